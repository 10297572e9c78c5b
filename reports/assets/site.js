// The choice of frameworks and of the machine is kept in the address, after the #:
// with=pytorch,chainer&machine=NAME&at=proof. All else on the page works without this script.
"use strict";

const boxes = [...document.querySelectorAll('input[name="with"]')];
const machine = document.getElementById("machine");
const allPhrases = document.getElementById("all-phrases");
const sections = new Set([...document.querySelectorAll("main > section")].map((one) => one.id));

function chosen() {
  return boxes.filter((box) => box.checked).map((box) => box.value);
}

// Put the choice into the address, without a new entry in the history.
function keep(at) {
  const parameters = new URLSearchParams();
  parameters.set("with", chosen().join(","));
  if (machine.value) parameters.set("machine", machine.value);
  if (at) parameters.set("at", at);
  history.replaceState(null, "", "#" + parameters.toString().replaceAll("%2C", ","));
}

// Take the choice from the address; what is unknown there is left as it is.
function read() {
  const hash = location.hash.slice(1);
  if (sections.has(hash)) return hash;
  const parameters = new URLSearchParams(hash);
  const known = (parameters.get("with") || "").split(",").filter((name) => boxes.some((box) => box.value === name));
  if (known.length) boxes.forEach((box) => { box.checked = known.includes(box.value); });
  const name = parameters.get("machine");
  if (name && [...machine.options].some((option) => option.value === name)) machine.value = name;
  return sections.has(parameters.get("at")) ? parameters.get("at") : null;
}

// Show what is chosen, and mark the lines that not all chosen frameworks have.
function show() {
  const names = new Set(chosen());
  document.querySelectorAll(".cell[data-module]").forEach((cell) => { cell.hidden = !names.has(cell.dataset.module); });
  document.querySelectorAll(".phrases [data-module]").forEach((cell) => {
    cell.hidden = !allPhrases.checked && !names.has(cell.dataset.module);
  });
  document.querySelectorAll(".machine").forEach((one) => { one.hidden = one.dataset.machine !== machine.value; });
  document.querySelectorAll(".step").forEach((step) => {
    const cells = [...step.querySelectorAll(".cell:not([hidden])")];
    const texts = cells.map((cell) => new Set([...cell.querySelectorAll(".line")].map((line) => line.textContent.trim())));
    cells.forEach((cell) => cell.querySelectorAll(".line").forEach((line) => {
      const text = line.textContent.trim();
      line.classList.toggle("differs", text !== "" && !texts.every((other) => other.has(text)));
    }));
  });
}

function copy(button) {
  const text = [...button.closest(".cell").querySelectorAll(".line")].map((line) => line.textContent).join("");
  navigator.clipboard.writeText(text).then(
    () => { button.textContent = "Copied"; },
    () => { button.textContent = "Not allowed"; },
  );
  setTimeout(() => { button.textContent = "Copy"; }, 2000);
}

function start() {
  const at = read();
  show();
  keep(at);
  if (at) document.getElementById(at).scrollIntoView();
}

boxes.forEach((box) => box.addEventListener("change", () => { show(); keep(); }));
machine.addEventListener("change", () => { show(); keep("figures"); });
allPhrases.addEventListener("change", show);
document.addEventListener("click", (event) => {
  if (event.target.matches("button.copy")) copy(event.target);
});
window.addEventListener("hashchange", start);
start();
