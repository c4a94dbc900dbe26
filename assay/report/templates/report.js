"use strict";
const number = (text) => { const found = text.replace("−", "-").replace(/\u2009/g, "").match(/-?\d+(\.\d+)?(e[-+]?\d+)?/i); return found ? parseFloat(found[0]) : NaN; };
for (const table of document.querySelectorAll(".table table")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const numeric = head.classList.contains("n");
    const key = (row) => row.cells[column].textContent.trim();
    const compare = (a, b) => {
      if (!numeric) return (up ? 1 : -1) * key(a).localeCompare(key(b));
      const x = number(key(a)), y = number(key(b));  // what is no number stays last, up or down
      return Number.isNaN(x) ? (Number.isNaN(y) ? 0 : 1) : Number.isNaN(y) ? -1 : up ? x - y : y - x;
    };
    const rows = [...table.tBodies[0].rows].sort(compare);
    table.tBodies[0].append(...rows);
  }));
  const filter = table.closest(".table").querySelector("input");
  if (filter) filter.addEventListener("input", () => {
    const wanted = filter.value.toLowerCase();
    for (const row of table.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
}
for (const button of document.querySelectorAll("button.save")) button.addEventListener("click", () => {
  const figure = button.closest("figure");
  const text = new XMLSerializer().serializeToString(figure.querySelector("svg"));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  link.download = figure.dataset.name + ".svg";
  link.click();
});
