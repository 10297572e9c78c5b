// A file's page keeps the choice of the page that it was opened from: #L84&with=NAME,OTHER.
"use strict";
function start() {
  const [line, ...rest] = location.hash.slice(1).split("&");
  if (rest.length) document.getElementById("back").hash = rest.join("&");
  document.querySelectorAll(".l.here").forEach((one) => one.classList.remove("here"));
  const here = /^L\d+$/.test(line) && document.getElementById(line);
  if (!here) return;
  here.classList.add("here");
  here.scrollIntoView({ block: "center" });
}
document.addEventListener("click", (event) => {
  const link = event.target.closest("a.n");
  if (!link) return;
  event.preventDefault();
  const rest = location.hash.slice(1).split("&").slice(1);
  location.hash = [link.getAttribute("href").slice(1), ...rest].join("&");
});
addEventListener("hashchange", start);
start();
