// Results: one comparison, of the committed runs and of a file that is dropped here; after site.js.
"use strict";

const { runs, metrics, usual } = data("results");
const schema = data("schema");
const number = (value, digits) => value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });

function shownRuns() {
  const { machine, model, lane, by } = filters;
  const some = runs.filter((run) => (run.own || run.machine === machine.value) && run.model === model.value && (lane.value === "both" ? ["same", "best"].includes(run.lane) : run.lane === lane.value));
  // Of one kind, and of the longest; of two as long, of that with nothing changed in the recipe.
  const [one] = some.filter((run) => !run.own).sort((a, b) => b.length - a.length || a.kind.length - b.kind.length);
  const timed = metrics[by.value].timed;
  return some.filter((run) => (run.own || run.kind === one.kind) && run[by.value] && (run.proven || !timed));
}

function compare() {
  const by = metrics[filters.by.value];
  const some = shownRuns();
  const better = by.less ? 1 : -1;
  some.sort((a, b) => better * (a[filters.by.value][0] - b[filters.by.value][0]));
  const values = some.map((run) => run[filters.by.value]);
  const most = Math.max(1e-9, ...values.flatMap((one) => one));
  const least = by.zero ? 0 : Math.min(...values.flatMap((one) => one)) * 0.9;
  const place = (value) => (100 * Math.max(0, value - least)) / (most - least || 1);
  $("bars").replaceChildren(...some.map((run, at) => {
    const [value, low, high] = values[at];
    const bar = element("i");
    bar.style.width = place(value) + "%";
    const track = element("div", { className: "track" }, bar);
    if (low !== undefined) {
      const range = element("b");
      range.style.left = place(low) + "%";
      range.style.width = Math.max(0.4, place(high) - place(low)) + "%";
      track.append(range);
    }
    const name = run.path ? element("a", { href: run.path, textContent: run.title }) : element("strong", { textContent: run.title });
    const told = number(value, by.digits) + by.unit + (low === undefined ? "" : ` (${number(low, by.digits)}–${number(high, by.digits)})`);
    const proof = element("span", { className: run.proven ? "ok" : "no", textContent: (run.proven ? "✓ " : "✗ ") + `${run.passed} of ${run.rungs}` });
    proof.title = "rungs of the certificate that this run passed";
    const row = element("div", { className: `result lane-${run.lane}${filters.lane.value === "both" ? " two" : ""}${run.own ? " own" : ""}` },
      element("span", {}, name, ` ${run.lane}${run.changed ? " †" : ""}`), track,
      element("span", { className: "value", textContent: told }), proof,
      element("span", { className: "from", textContent: run.from }));
    row.setAttribute("role", "listitem");
    return row;
  }));
  $("meaning").textContent = by.says;
  // A dropped run is of another machine, and perhaps of another recipe.
  const kind = some.find((run) => !run.own)?.kind;
  const ranked = some.filter((run) => !run.own || (run.kind === kind && ["accuracy", "share"].includes(filters.by.value)));
  $("answer").textContent = answer(ranked, by);
  $("belief").textContent = belief(some, by);
  $("source").textContent = sources(some);
}

const called = (run) => `${run.title}, ${run.lane}`;

// A sentence or two, made of the figures.
function answer(some, by) {
  if (!some.length) return "There is no committed run of this kind.";
  const [first, ...others] = some;
  const [value, low, high] = first[filters.by.value];
  let text = `${by.best}: ${called(first)}, with ${number(value, by.digits)}${by.unit}${by.noun.replace("NOUN", first.noun)}.`;
  if (low !== undefined && others.length) {
    const level = others.filter((run) => run[filters.by.value][2] >= low && run[filters.by.value][1] <= high);
    text += level.length
      ? ` No difference shown between it and ${level.length === others.length ? "any other" : level.map(called).join("; ")}: their ${by.interval} overlap.`
      : ` Its ${by.interval} overlap with no other.`;
  }
  return text;
}

// Whether the figures may be believed.
function belief(some, by) {
  if (!some.length) return "";
  const failed = some.filter((run) => !run.proven);
  let text = failed.length ? ` Not proven: ${failed.map(called).join("; ")}.` : `${some.length > 1 ? `All ${some.length} are` : "It is"} proven: ${some.length > 1 ? "each" : "it"} passed every rung of its certificate.`;
  const products = some.map((run) => run.product).filter(Boolean);
  if (by.timed && products.length > 1) {
    const range = [Math.min(...products), Math.max(...products)];
    text += ` Each is one run at its own time: the machine's matrix product ranged from ${number(range[0], 0)} to ${number(range[1], 0)} GFLOP/s, so a ratio below ${number(range[1] / range[0], 1)} may come from the time of day.`;
  }
  return text;
}

function sources(some) {
  const each = (name) => [...new Set(some.map((run) => run[name]))].join("; ");
  if (!some.length) return "";
  const dates = some.map((run) => run.made).sort();
  const when = dates[0] === dates[dates.length - 1] ? dates[0] : `${dates[0]} to ${dates[dates.length - 1]}`;
  return `${each("kind")}. Data: ${each("data")}. Machine: ${each("what")}. Made ${when}. † The module's file has changed since.`;
}

// Draft 7 of JSON Schema, as far as the schema of a result file goes; the first problem, or null.
function problem(value, rule, at = "the whole") {
  if (rule.$ref) return problem(value, rule.$ref.slice(2).split("/").reduce((one, name) => one[name], schema), at);
  const kind = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  const is = (type) => type === kind || (type === "integer" && Number.isInteger(value));
  if (rule.type && ![rule.type].flat().some(is)) return `${at}: not ${[rule.type].flat().join(" or ")}`;
  if ("const" in rule && value !== rule.const) return `${at}: not ${JSON.stringify(rule.const)}`;
  if (rule.enum && !rule.enum.includes(value)) return `${at}: not one of ${rule.enum.join(", ")}`;
  if (kind === "string" && rule.pattern && !new RegExp(rule.pattern).test(value)) return `${at}: not of the form ${rule.pattern}`;
  if (kind === "number" && (value < rule.minimum || value > rule.maximum || value <= rule.exclusiveMinimum || !Number.isFinite(value))) return `${at}: out of range`;
  if (kind === "array") {
    if (value.length < rule.minItems || value.length > rule.maxItems) return `${at}: ${value.length} items`;
    for (const [place, one] of value.entries()) {
      const found = rule.items && problem(one, rule.items, `${at}/${place}`);
      if (found) return found;
    }
  }
  if (kind === "object") {
    for (const name of rule.required || []) if (!Object.hasOwn(value, name)) return `${at}: no "${name}"`;
    for (const [name, one] of Object.entries(value)) {
      const known = rule.properties && Object.hasOwn(rule.properties, name) ? rule.properties[name] : rule.additionalProperties;
      if (known === false) return `${at}: "${name}" is unknown`;
      const found = known && known !== true && problem(one, known, at === "the whole" ? name : `${at}/${name}`);
      if (found) return found;
    }
  }
  if (rule.oneOf) {
    const fits = rule.oneOf.filter((one) => problem(value, one, at) === null).length;
    if (fits !== 1) return `${at}: of no known kind`;
  }
  if (rule.not && problem(value, rule.not, at) === null) return `${at}: has what it must not have`;
  if (rule.anyOf && rule.anyOf.every((one) => problem(value, one, at) !== null)) return `${at}: of no known kind`;
  if (rule.if) {
    const then = problem(value, rule.if, at) === null ? rule.then : rule.else;
    return then ? problem(value, then, at) : null;
  }
  return null;
}

// As in table.py: a run's length, and how it deviates from the recipe.
function recipe(result) {
  const { hyperparameters: hp, settings, dataset, machine } = result;
  const { weights, dropout } = usual[result.model || "cnn"];
  return [
    `${dataset.train_images.toLocaleString("en")} × ${hp.epochs}`,
    (settings.products || "float32") !== "float32" && `products of ${settings.products}`,
    dropout && !hp.dropout.some(Boolean) && "no dropout",
    hp.seed && `seed ${hp.seed}`,
    result.weights !== weights && "weights of its own",
    settings.workers > 1 && `${settings.workers} workers`,
    settings.threads !== machine.cores && `threads: ${settings.threads}`,
    dataset.name.startsWith("synthetic") && "synthetic data",
  ].filter(Boolean).join(", ");
}

function fromFile(name, result) {
  const certificate = result.certificate;
  const times = result.timings;
  const batch = result.hyperparameters.batch_size;
  const share = result.accuracy;
  const gpus = result.machine.gpus.map((gpu) => ", " + gpu.name).join("");
  const kind = recipe(result);
  return {
    own: true, noun: runs.find((run) => run.model === (result.model || "cnn"))?.noun || "", machine: name, title: result.title, lane: result.lane, model: result.model || "cnn",
    data: result.dataset.name, made: result.made.slice(0, 10), changed: false, path: null,
    kind,
    what: `${result.machine.cpu}, ${result.machine.cores} cores${gpus}`,
    from: `your file ${name}: ${kind}, version ${result.versions.framework}, ${result.made.slice(0, 10)}`,
    proven: certificate.passed && certificate.rungs.every((rung) => rung.passed) && result.late_updates?.passed !== false,
    passed: certificate.rungs.filter((rung) => rung.passed).length, rungs: certificate.rungs.length,
    product: times.matmul_flops ? times.matmul_flops / 1e9 : null,
    speed: [batch / times.step.median, ...times.step.quartiles.map((seconds) => batch / seconds).sort((a, b) => a - b)],
    accuracy: share ? [100 * share.value, ...share.interval.map((end) => 100 * end)] : null,
    share: times.share_of_matmul ? [100 * times.share_of_matmul] : null,
    train: [times.train], first: [times.first_step],
    memory: result.peak_memory_bytes ? [result.peak_memory_bytes / 1e9] : null,
  };
}

async function dropped(files) {
  const troubles = [];
  for (const file of files) {
    let result;
    try { result = JSON.parse(await file.text()); } catch (error) { troubles.push(`${file.name}: not JSON (${error.message})`); continue; }
    const version = result?.schema;
    const why = version !== schema.properties.schema.const ? `of schema version ${JSON.stringify(version)}, not ${schema.properties.schema.const}` : problem(result, schema);
    if (why) { troubles.push(`${file.name}: not a result: ${why}`); continue; }
    if (result.status !== "finished") { troubles.push(`${file.name}: of a run that stopped: ${result.error}`); continue; }
    const model = result.model || "cnn";
    if (!metrics.speed || ![...filters.model.options].some((option) => option.value === model)) {
      troubles.push(`${file.name}: no committed run is of ${model}`);
      continue;
    }
    const run = fromFile(file.name, result);
    runs.push(run);
    filters.model.value = run.model;
    if (filters.lane.value !== "both" || !["same", "best"].includes(run.lane)) filters.lane.value = run.lane;
    const by = metrics[filters.by.value];
    const reason = by.timed && !run.proven ? "it is not proven" : `it has no ${by.title}`;
    $("shown").textContent = `${file.name} ${shownRuns().includes(run) ? "is shown with the others above. Machine and recipe may differ: then compare shares of the matrix product only" : "is not shown: " + reason}. The file has not left this browser.`;
    $("single-runs").open = true;
  }
  $("dropped").textContent = troubles.join("\n");
  compare();
}

// What the reader does.

for (const select of Object.values(filters)) select.addEventListener("change", () => { compare(); keep(); });
$("file").addEventListener("change", () => dropped($("file").files));
for (const name of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(name, (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    $("drop").classList.toggle("over", name === "dragover");
    if (name === "drop") dropped(event.dataTransfer.files);
  });
}
document.addEventListener("arranged", compare);
