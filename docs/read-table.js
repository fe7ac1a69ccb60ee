// Reads torchpick's table.json: the arguments for pip on a given machine, or null where no build runs.
// As a program it tries itself on the questions: node read-table.js table.json vectors.jsonl
"use strict";

const FITS = ["jit", "binary", "exact"];
const numbers = (text) => text.split(".").map(Number);

function older(one, other) {
  const place = one.findIndex((part, at) => part !== other[at]);
  return place < 0 ? one.length < other.length : place < other.length && one[place] < other[place];
}

// How well a build runs on one GPU with this driver: 3 its own code, 2 older code, 1 PTX, 0 not at all.
function fit(table, build, gpu, driver, os) {
  const runs = table.runs[build.runs][gpu];
  if (!runs) return 0;
  const rank = FITS.indexOf(runs.fit) + 1;
  if (driver === null) return rank;
  const has = numbers(driver), ofGpu = table.gpus[gpu], ofCuda = table.cuda[build.cuda];
  const native = ofCuda.native !== null && has[0] >= ofCuda.native;
  const carried = native || (ofCuda.from[os] !== null && !older(has, numbers(ofCuda.from[os])));
  const old = ofGpu.from[os] !== null && older(has, numbers(ofGpu.from[os]));
  const late = ofGpu.before !== null && has[0] >= ofGpu.before;
  const short = older(has, numbers(runs.driver ?? "0")) || (runs.fit === "jit" && !native);
  return old || late || short || !carried ? 0 : rank;
}

// The driver that is assumed where none is given: the newest that supports the GPUs; null for a Jetson, which is asked.
function assumed(table, gpus) {
  const known = gpus.map((gpu) => table.gpus[gpu]);
  if (known.some((each) => each.jetson)) return null;
  return String(Math.min(1e6, ...known.map((each) => each.before ?? 1e6)) - 1);
}

// The builds are in the order of preference: the best of the newest release of which any runs.
function answer(table, { gpus, driver, platform, python, glibc, companions }) {
  const os = platform.split("-")[0];
  const family = gpus.length === 0 ? "cpu" : gpus[0].startsWith("sm_") ? "cu" : "rocm";
  if (family === "cu" && driver === null && (driver = assumed(table, gpus)) === null) return null;
  const minor = python.replace(/^(\d+\.\d+)\.\d+/, "$1");
  let found = null, best = 0;
  for (const build of table.builds) {
    if (found !== null && (build.torch !== found.torch || build.vendor !== found.vendor)) break;
    if (build.platform !== platform || !build.backend.startsWith(family)) continue;
    const beside = companions.map((name) => build.companions[name]);
    if (![build, ...beside].every((each) => each?.pythons.includes(minor) && !each.excluded?.includes(python))) continue;
    if (glibc && build.glibc && older(numbers(glibc), numbers(build.glibc))) continue;
    const worst = Math.min(3, ...gpus.map((gpu) => fit(table, build, gpu, driver, os)));
    const native = driver === null || numbers(driver)[0] >= (table.cuda[build.cuda]?.native ?? 1e6);
    const worth = worst && 2 * worst + (native ? 1 : 0);
    if (worth > best) [best, found] = [worth, build];
  }
  if (found === null) return null;
  const extras = `[${gpus.map((gpu) => `device-${gpu}`).join(",")}]`;
  const pin = (name, version) => `${name}${found.extras.includes(name) ? extras : ""}==${version}`;
  const pins = companions.map((name) => pin(name, found.companions[name].version));
  return [found.option, found.index, pin("torch", found.version), ...pins].join(" ");
}

module.exports = { answer };

if (require.main === module) {
  const [table, vectors] = process.argv.slice(2).map((file) => require("fs").readFileSync(file, "utf8"));
  const read = JSON.parse(table);
  const lines = vectors.trim().split("\n").map((line) => JSON.parse(line));
  const wrong = lines.filter((each) => answer(read, each.question) !== each.answer);
  wrong.forEach((each) => console.log(JSON.stringify(each)));
  console.log(`${lines.length - wrong.length} of ${lines.length} as expected`);
  process.exitCode = wrong.length ? 1 : 0;
}
