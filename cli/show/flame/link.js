/* The state of the page in the hash of its address: "#view=inverted&type=alloc_space&zoom=12". What is
 * as at the beginning is left out, so the address of the whole graph has no hash. */

function writeLink(state, first) {
  const parts = new URLSearchParams();
  for (const key of Object.keys(first)) if (String(state[key]) !== String(first[key])) parts.set(key, state[key]);
  const text = parts.toString();
  return text ? `#${text}` : "";
}

/* Anything may stand in an address. allowed has a function for each key: the value of a text, or
 * undefined. */
function readLink(hash, first, allowed) {
  const parts = new URLSearchParams(hash.slice(1)), state = { ...first };
  for (const key of Object.keys(first)) {
    const value = parts.has(key) ? allowed[key](parts.get(key)) : undefined;
    if (value !== undefined) state[key] = value;
  }
  return state;
}
