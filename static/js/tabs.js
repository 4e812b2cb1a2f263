// On a narrow screen the row of tabs scrolls: show the one that is open.

for (const open of document.querySelectorAll(".tabs [aria-current]")) {
  const row = open.closest(".tabs");
  row.scrollLeft = open.offsetLeft - row.offsetLeft - (row.clientWidth - open.offsetWidth) / 2;
}
