/* The search: every word must be in a part of a page. Parts that have them in the title come first. */
const field = document.getElementById("find"), list = document.getElementById("found"), pages = document.getElementById("pages");
const MOST = 30;

function rankOf([, page, title, text], words) {
  const head = `${page} ${title}`.toLowerCase(), body = text.toLowerCase();
  if (!words.every((word) => head.includes(word) || body.includes(word))) return 0;
  return 1 + words.filter((word) => head.includes(word)).length;
}

function excerptOf(text, word) {
  const at = Math.max(text.toLowerCase().indexOf(word) - 40, 0);
  return (at > 0 ? "\u2026" : "") + text.slice(at, at + 120);
}

function lineOf([address, page, title, text], words) {
  const line = document.createElement("li"), link = document.createElement("a"), shown = document.createElement("p");
  link.href = `${document.body.dataset.root}/${address}`;
  link.textContent = page === title ? page : `${page}: ${title}`;
  shown.textContent = excerptOf(text, words[0]);
  line.append(link, shown);
  return line;
}

function find() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const ranked = parts.map((part) => ({ part, rank: words.length ? rankOf(part, words) : 0 })).filter(({ rank }) => rank);
  ranked.sort((a, b) => b.rank - a.rank);
  list.replaceChildren(...ranked.slice(0, MOST).map(({ part }) => lineOf(part, words)));
  if (words.length && !ranked.length) list.append("nothing has all of these words");
  list.hidden = !words.length;
  pages.hidden = words.length > 0;
}

field.addEventListener("input", find);
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target === field) return;
  event.preventDefault();
  field.focus();
});
if (matchMedia("(max-width: 800px)").matches) pages.open = false;
