/* The table of the functions. Rows are made when they are shown: 200, and 200 more for each More, 16 of
 * them, a group, for each picture, so that none comes late. table.dataset.moves is set until all are there. */

const PAGE_ROWS = 200, ROWS_PER_PICTURE = 16;

function makeTable(parts, columns, order, actions) {
  const { table, heads, more, title } = parts;
  let rows = [], hits = null, shown = 0, unit = "", total = 0;

  function valueOf(row, key) {
    if (key === "selfChange") return row.self - row.selfBefore;
    if (key === "totalChange") return row.total - row.totalBefore;
    return row[key.replace("Share", "")];
  }

  function cellText(row, key) {
    if (key.endsWith("Share")) return formatShare(valueOf(row, key), total);
    if (key.endsWith("Change")) return formatChange(valueOf(row, key), unit);
    return formatValue(valueOf(row, key), unit);
  }

  function sort() {
    const { key, sign } = order, isChange = key.endsWith("Change");
    const size = (row) => (isChange ? Math.abs(valueOf(row, key)) : valueOf(row, key));
    const byName = (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
    for (const row of rows) row.size = key === "name" ? 0 : sign * size(row);
    rows.sort((a, b) => a.size - b.size || (key === "name" ? sign : 1) * byName(a, b));
  }

  function makeButton(text, title, action) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    if (title) button.title = title;
    button.onclick = action;
    return button;
  }

  function putHeads() {
    heads.replaceChildren(...columns.map(([key, text]) => {
      const head = document.createElement("th");
      head.scope = "col";
      head.role = "columnheader"; /* the style is not that of a table, so the roles are set */
      if (key === order.key) head.ariaSort = order.sign < 0 ? "descending" : "ascending";
      if (key.endsWith("Share")) {
        head.textContent = text;
        return head;
      }
      const button = makeButton(text, "", () => {
        order = { key, sign: order.key === key ? -order.sign : key === "name" ? 1 : -1 };
        putHeads();
        sort();
        put();
        heads.querySelector(`[data-key="${key}"]`).focus();
      });
      button.dataset.key = key;
      head.append(button);
      return head;
    }));
  }

  function makeRow(row) {
    const line = document.createElement("tr");
    line.role = "row";
    for (const [key] of columns) {
      const cell = document.createElement("td");
      cell.role = "cell";
      if (key === "name") {
        const around = makeButton("", "Callers and callees", () => actions.around(row));
        around.className = "around";
        around.ariaLabel = `Callers and callees of ${row.name}`;
        cell.append(makeButton(row.name, "Search for it", () => actions.find(row)), around);
        cell.dataset.place = actions.place(row);
      } else {
        cell.textContent = cellText(row, key);
        if (key.endsWith("Change") && valueOf(row, key)) cell.className = valueOf(row, key) > 0 ? "growth" : "shrinkage";
      }
      line.append(cell);
    }
    return line;
  }

  function makeGroup(next) {
    const group = document.createElement("tbody");
    group.role = "rowgroup";
    group.append(...next.map(makeRow));
    return group;
  }

  function seen() {
    return hits ? rows.filter((row) => hits[row.id]) : rows;
  }

  let all = [], wanted = 0, asked = 0;

  /* Makes the next rows, and asks for another picture until there are as many as are wanted. */
  function putSome() {
    const next = all.slice(shown, Math.min(shown + ROWS_PER_PICTURE, wanted));
    if (next.length) table.append(makeGroup(next));
    shown += next.length;
    asked = shown < wanted ? requestAnimationFrame(putSome) : 0;
    table.dataset.moves = asked !== 0;
  }

  function want(rows) {
    wanted = Math.min(rows, all.length);
    more.hidden = all.length <= wanted;
    more.textContent = `More (${(all.length - wanted).toLocaleString("en-US")})`;
    title.textContent = `Functions (${all.length.toLocaleString("en-US")})`;
    cancelAnimationFrame(asked);
    putSome();
  }

  function put() {
    all = seen();
    shown = 0;
    for (const group of [...table.tBodies]) group.remove();
    want(PAGE_ROWS);
  }

  putHeads();
  more.addEventListener("click", () => want(wanted + PAGE_ROWS));
  return {
    show(all, unitOfAll, totalOfAll) {
      rows = all;
      unit = unitOfAll;
      total = totalOfAll;
      sort();
    },
    find(found) { hits = found; put(); },
  };
}
