"use strict";
// What each GPU, each driver and each Python says of a build was judged by torchpick before this page was written. What
// follows only adds it up: a build runs where none of them holds a text against it.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const text = (place) => data.texts[place];
  const chosen = { gpu: null, name: "", torch: "", system: 0, driver: "", python: 0, patches: false, search: "" };

  const platform = () => data.platforms[chosen.system];
  const driver = () => chosen.driver;
  const python = () => platform().pythons[chosen.python];

  // The builds of each release for one GPU, newest release first, best build first; null where it is not found here.
  // What GPU, driver and Python say of a build is added up; a GPU says other things where the driver relies on
  // minor-version compatibility for the build's CUDA.
  function releasesOf(gpu, asked = driver()) {
    const own = platform().gpus[gpu];
    if (!own) return null;
    const used = own.driver && (asked || own.driver);
    const says = platform().says[used] || { objects: {}, relies: [], refuses: {} };
    const releases = new Map();
    platform().builds.forEach(([torch, backend, cuda, command, glibc, evidence, vendor], place) => {
      const relies = says.relies.includes(cuda);
      const verdict = (relies ? own.abroad : own.home)[place];
      if (verdict === null) return;
      const [why, fit, how, notes] = data.verdicts[verdict];
      const against = [says.refuses[gpu], ...why, says.objects[cuda], python().objects[place]].filter((each) => each !== undefined).map(text);
      if (!releases.has(torch)) releases.set(torch, []);
      releases.get(torch).push({
        torch, backend, vendor, against, fit, relies, runs: against.length === 0, jit: fit === 1, how: text(how), notes: notes.map(text),
        command: text(command).replaceAll("device-ARCH", `device-${data.gpus[gpu].arch}`).replace(/\S*\[\S*/g, '"$&"'),
        companions: text(python().companions[place]), glibc: text(glibc), evidence: text(evidence),
      });
    });
    for (const builds of releases.values()) builds.sort((a, b) => a.vendor - b.vendor || b.fit - a.fit || a.relies - b.relies);
    return { used, releases };
  }

  const bestOf = (builds) => (builds || []).find((build) => build.runs);

  // What lies on a vendor's own index counts where PyTorch's has nothing that runs.
  function newestOf(releases) {
    const best = [...releases.values()].map(bestOf).filter(Boolean);
    return (best.find((build) => !build.vendor) || best[0] || { torch: "" }).torch;
  }

  function make(tag, properties, ...children) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children.filter((child) => child !== null));
    return element;
  }

  // ---- search ------------------------------------------------------------------------------------------------------
  const squeezed = (words) => words.toLowerCase().replace(/[^a-z0-9]+/g, "");
  const products = data.products.map(([name, capabilities]) => ({
    name, capabilities: capabilities.split(" "), glued: squeezed(name), words: name.toLowerCase().split(/[^a-z0-9]+/),
  }));

  // Products and GPUs by name: whole words first, then beginnings, then letters anywhere.
  function search(query) {
    const plain = query.trim().toLowerCase();
    const gpu = data.gpus.findIndex((each) => plain === each.arch || plain === each.capability);
    if (plain && gpu >= 0) return { products: [], gpus: new Set([gpu]) };
    const words = plain.split(/[^a-z0-9]+/).filter((word) => word && word !== "nvidia");
    if (!words.length) return null;
    const generation = data.gpus.flatMap((each, place) => (squeezed(each.generation) === squeezed(plain) ? [place] : []));
    if (generation.length) return { products: [], gpus: new Set(generation) };
    const glued = squeezed(plain).replace(/^nvidia/, "");
    const ways = [
      (each) => words.every((word) => each.words.includes(word)),
      (each) => words.every((word) => each.words.some((mine) => mine.startsWith(word))),
      (each) => glued && each.glued.includes(glued),
    ];
    for (const way of ways) {
      const found = products.filter(way).sort((a, b) => a.name.length - b.name.length);
      if (found.length) return { products: found, gpus: new Set(found.flatMap((each) => gpusOf(each))) };
    }
    return { products: [], gpus: new Set() };
  }

  const gpuAt = (capability) => data.gpus.findIndex((gpu) => gpu.capability === capability || gpu.arch === capability);
  const gpusOf = (product) => product.capabilities.map(gpuAt).filter((place) => place >= 0);

  // A name that stands for chips of different capability is never guessed at.
  const sure = (product) => product.capabilities.length === 1 && gpusOf(product).length === 1;

  // ---- addresses that stay: #gtx-1080-ti, #sm_61 -----------------------------------------------------------------------
  const slug = (words) => words.toLowerCase().replace(/[^a-z0-9_.]+/g, "-").replace(/^-|-$/g, "");
  const slugsOf = (product) => [slug(product.name), slug(product.name.replace(/^(NVIDIA |GeForce |Tesla |Quadro |Radeon |Instinct )+/, ""))];

  // The products of an address, the shortest name first; a name that stands for several chips is shown, not guessed at.
  const productsAt = (anchor) => products.filter((each) => slugsOf(each).includes(anchor)).sort((a, b) => a.name.length - b.name.length);

  function addressOf(gpu) {
    const short = chosen.name ? slugsOf({ name: chosen.name })[1] : "";
    const same = productsAt(short);
    return short && same.every((each) => gpusOf(each).includes(chosen.gpu)) ? short : gpu.arch;
  }

  // Whether the address was one of these, which then stays as it is until something is chosen.
  function openAnchor(anchor) {
    if (!anchor || anchor.includes("=")) return false;
    const [product] = productsAt(anchor);
    const gpu = data.gpus.findIndex((each) => each.arch === anchor);
    if (!product && gpu < 0) return false;
    chosen.search = product ? product.name : anchor;
    byId("search").value = chosen.search;
    chosen.torch = "";
    chosen.name = product && sure(product) ? product.name : "";
    chosen.gpu = product ? (sure(product) ? gpusOf(product)[0] : null) : gpu;
    if (chosen.gpu !== null && !platform().gpus[chosen.gpu]) {
      const there = data.platforms.findIndex((each) => each.gpus[chosen.gpu]);
      if (there >= 0) move(there);
    }
    return true;
  }

  const POPULAR = ["GTX 1080 Ti", "Tesla P100", "Tesla V100", "Tesla T4", "RTX 2080 Ti", "RTX 3090", "A100", "RTX 4090", "H100", "RTX 5090", "RX 7900 XTX", "MI300X"];

  function showPopular() {
    const line = byId("popular");
    line.hidden = Boolean(chosen.search) || chosen.gpu !== null;
    if (line.children.length) return;
    for (const name of POPULAR) {
      const button = make("button", { type: "button", textContent: name });
      button.addEventListener("click", () => {
        byId("search").value = chosen.search = name;
        const [product] = (search(name) || { products: [] }).products;
        if (product) choose(product);
      });
      line.append(button, " ");
    }
  }

  // ---- what is shown ------------------------------------------------------------------------------------------------
  function showMatches(found) {
    const list = byId("matches");
    list.replaceChildren();
    byId("found").textContent = "";
    if (!found) return;
    const shown = found.products.slice(0, 8);
    for (const product of shown) {
      const known = gpusOf(product).map((place) => data.gpus[place].arch);
      if (product.capabilities.some((each) => each !== "?" && gpuAt(each) < 0)) known.push("no build runs");
      const label = `${product.name} (${known.join(" or ") || "capability unknown"})`;
      const pressed = chosen.name === product.name;
      const button = make("button", { type: "button", textContent: label });
      button.setAttribute("aria-pressed", String(pressed));
      button.addEventListener("click", () => choose(product));
      list.append(make("li", {}, button));
    }
    const count = found.products.length;
    const more = count > shown.length ? `, the first ${shown.length} are shown` : "";
    if (count) byId("found").textContent = `${count === 1 ? "1 GPU matches" : `${count} GPUs match`}${more}.`;
    else if (!found.gpus.size) byId("found").textContent = "No GPU of that name is known. A capability such as 8.6 or sm_86 also does.";
  }

  function choose(product) {
    const places = gpusOf(product);
    chosen.name = product.name;
    chosen.torch = "";
    chosen.gpu = sure(product) ? places[0] : null;
    show();
    if (chosen.gpu !== null) return;
    const several = `was sold with several chips (${product.capabilities.join(", ")}); nvidia-smi --query-gpu=compute_cap tells which`;
    const only = product.capabilities[0] === "?" ? "has no published capability" : "is older than every build of the table";
    byId("found").textContent = `${product.name} ${product.capabilities.length > 1 ? several : only}.`;
  }

  function showGrid(found) {
    const table = byId("grid");
    const releases = platform().releases.filter((_, place) => chosen.patches || platform().newest.includes(place));
    const head = make("tr", {}, make("th", { scope: "col", textContent: "GPU" }));
    for (const torch of releases) head.append(make("th", { scope: "col", textContent: torch }));
    const body = make("tbody", {});
    data.gpus.forEach((gpu, place) => {
      if (found && found.gpus.size && !found.gpus.has(place)) return;
      const looked = releasesOf(place);
      if (looked) body.append(row(gpu, place, looked.releases, releases));
    });
    table.replaceChildren(make("thead", {}, head), body);
    const first = table.querySelector("td.chosen button") || table.querySelector("td button");
    if (first) first.tabIndex = 0;
    if (!body.children.length) {
      const cell = make("td", { colSpan: releases.length + 1, textContent: "Not found on this system." });
      body.append(make("tr", {}, cell));
    }
  }

  function row(gpu, place, looked, releases) {
    const name = make("button", { type: "button" }, gpu.arch);
    name.append(make("span", { textContent: [gpu.generation, gpu.examples].filter(Boolean).join(": ") }));
    name.addEventListener("click", () => select(place, "", name));
    const line = make("tr", { className: chosen.gpu === place ? "chosen" : "" }, make("th", { scope: "row" }, name));
    for (const torch of releases) {
      const best = bestOf(looked.get(torch));
      const kind = best ? (best.jit ? "jit" : "runs") : "none";
      const label = best ? `torch ${torch} on ${gpu.arch}: ${best.backend}` : `torch ${torch} on ${gpu.arch}: none runs`;
      const button = make("button", { type: "button", tabIndex: -1, textContent: best ? best.backend + (best.jit ? "*" : "") : "–" });
      button.setAttribute("aria-label", label);
      button.addEventListener("click", () => select(place, torch, button));
      const picked = chosen.gpu === place && chosen.torch === torch ? " chosen" : "";
      line.append(make("td", { className: kind + picked }, button));
    }
    return line;
  }

  function select(gpu, torch) {
    if (chosen.gpu !== gpu) chosen.name = "";
    chosen.gpu = gpu;
    chosen.torch = torch;
    show();
    const title = byId("answer-title");
    if (title) {
      title.focus({ preventScroll: true });
      title.scrollIntoView({ block: "nearest" });
    }
  }

  function showAnswer() {
    const panel = byId("answer");
    panel.hidden = chosen.gpu === null;
    byId("columns").classList.toggle("split", chosen.gpu !== null);
    panel.replaceChildren();
    if (chosen.gpu === null) return;
    const gpu = data.gpus[chosen.gpu];
    const about = [gpu.generation, gpu.arch].filter(Boolean).join(", ");
    panel.append(make("h2", { id: "answer-title", tabIndex: -1, textContent: chosen.name ? `${chosen.name} (${about})` : about }));
    const looked = releasesOf(chosen.gpu);
    if (!looked) {
      panel.append(make("p", { textContent: `It is not found on ${platform().label}.` }), elsewhere());
      return;
    }
    const newest = newestOf(looked.releases);
    const facts = [platform().label, python().name];
    if (looked.used) facts.push(`driver ${looked.used}${driver() ? "" : ", the newest that supports it"}`);
    const lead = make("p", { className: "lead" });
    if (newest) {
      const best = bestOf(looked.releases.get(newest));
      lead.append("newest that runs: ", make("b", { textContent: `torch ${newest} with ${best.backend}` }));
    } else lead.append("no build runs");
    const link = make("a", { href: `#${addressOf(gpu)}`, textContent: "link to this GPU" });
    panel.append(lead, make("p", { className: "soft" }, `${facts.join(" · ")} · `, link));
    const torch = looked.releases.has(chosen.torch) ? chosen.torch : newest || [...looked.releases.keys()][0];
    const older = torch === newest ? olderDrivers(newest) : null;
    if (older) panel.append(older);
    panel.append(...release(torch, looked.releases.get(torch)));
    if (torch !== newest && newest) {
      const back = make("button", { type: "button", className: "plain", textContent: `show torch ${newest}` });
      back.addEventListener("click", () => select(chosen.gpu, ""));
      panel.append(back);
    }
    const newer = [...looked.releases.keys()].filter((each) => newest && release_place(each) < release_place(newest));
    if (newer.length && torch === newest) panel.append(whyNotNewer(newer, looked.releases));
  }

  const release_place = (torch) => platform().releases.indexOf(torch);

  function release(torch, builds) {
    const best = bestOf(builds);
    const parts = [make("h3", { textContent: `torch ${torch}` })];
    for (const [label, command] of best ? commandsOf(best) : []) {
      const code = make("code", { textContent: command });
      const copy = make("button", { type: "button", textContent: "copy" });
      copy.setAttribute("aria-label", `copy: ${label}`);
      copy.addEventListener("click", () => copyText(command, code, copy));
      parts.push(make("p", { className: "soft what", textContent: label }), make("div", { className: "command" }, code, copy));
    }
    parts.push(listed(builds));
    if (best) {
      const facts = [best.companions && `with ${best.companions}`, best.glibc && `glibc ${best.glibc} or newer`, `evidence: ${best.evidence}`];
      parts.push(make("p", { className: "soft", textContent: facts.filter(Boolean).join(" · ") }));
    }
    return parts;
  }

  function commandsOf(build) {
    const pins = build.vendor ? [] : build.companions.split(", ").filter(Boolean).map((each) => each.replace(" ", "=="));
    const whole = [build.command, ...pins].join(" ");
    const names = pins.map((each) => each.split("==")[0]).join(" and ");
    return [["pip", build.command], ...(pins.length ? [[`pip, with ${names}`, whole]] : []), ["uv", `uv ${whole}`]];
  }

  // What older drivers take instead, where none was chosen: `525 to 579: torch 2.14.1 with cu126`.
  function olderDrivers(newest) {
    const own = platform().gpus[chosen.gpu];
    if (driver() || !own.driver || !newest) return null;
    const spans = [];
    let [lowest, before] = [parseInt(own.driver, 10), null];
    for (const version of [own.driver, ...platform().drivers.filter((each) => parseInt(each, 10) < lowest)]) {
      const { releases } = releasesOf(chosen.gpu, version);
      const torch = newestOf(releases);
      if (!torch) break;
      const found = `torch ${torch} with ${bestOf(releases.get(torch)).backend}`;
      const number = parseInt(version, 10);
      if (found === before) spans[spans.length - 1].first = number;
      else spans.push({ found, version, first: number, last: lowest - 1 });
      [lowest, before] = [number, found];
    }
    const list = make("ul", { className: "builds" });
    for (const { found, version, first, last } of spans.slice(1)) {
      const button = make("button", { type: "button", className: "plain", textContent: `driver ${first} to ${last}` });
      button.addEventListener("click", () => { chosen.driver = branchOf(version); show(); });
      list.append(make("li", {}, button, ` ${found}`));
    }
    if (!list.children.length) return null;
    return make("div", {}, make("h3", { textContent: "Which driver is it?" }), make("p", { className: "soft", textContent: "nvidia-smi prints it. With an older one:" }), list);
  }

  function listed(builds) {
    const list = make("ul", { className: "builds" });
    for (const build of [...builds].sort((a, b) => Number(b.runs) - Number(a.runs))) {
      const kind = build.runs ? (build.jit ? "jit" : "runs") : "none";
      const tag = make("span", { className: `tag ${kind}`, textContent: build.backend });
      const item = make("li", {}, tag, build.runs ? build.how : "not picked");
      const said = build.runs ? build.notes : build.against;
      if (said.length) item.append(make("ul", {}, ...said.map((each) => make("li", { textContent: each }))));
      list.append(item);
    }
    return list;
  }

  function whyNotNewer(newer, releases) {
    const details = make("details", { open: true }, make("summary", { textContent: "why not newer" }));
    for (const torch of newer.slice(0, 2)) details.append(make("h3", { textContent: `torch ${torch}` }), listed(releases.get(torch)));
    if (newer.length > 2) details.append(make("p", { textContent: `and ${newer.length - 2} more: choose their cells in the table.` }));
    return details;
  }

  function elsewhere() {
    const line = make("p", {});
    data.platforms.forEach((each, place) => {
      if (!each.gpus[chosen.gpu]) return;
      const button = make("button", { type: "button", className: "plain", textContent: `show ${each.label}` });
      button.addEventListener("click", () => { move(place); show(); });
      line.append(button);
    });
    return line;
  }

  async function copyText(command, code, button) {
    try {
      await navigator.clipboard.writeText(command);
    } catch {
      const range = document.createRange();
      range.selectNodeContents(code);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      document.execCommand("copy");
    }
    button.textContent = "copied";
    setTimeout(() => { button.textContent = "copy"; }, 2000);
  }

  // ---- filters and the address --------------------------------------------------------------------------------------
  function fill(select, labels, place) {
    select.replaceChildren(...labels.map((label, value) => make("option", { value: String(value), textContent: label })));
    select.value = String(place);
  }

  const branchOf = (version) => platform().drivers.find((each) => parseInt(each, 10) === parseInt(version, 10)) || "";

  // To another system, keeping the driver's branch and the Python where it has them.
  function move(system) {
    const [branch, name] = [driver(), python().name];
    chosen.system = system;
    chosen.driver = branchOf(branch);
    const same = platform().pythons.findIndex((each) => each.name === name);
    chosen.python = same >= 0 ? same : 0;
  }

  function showFilters() {
    fill(byId("system"), data.platforms.map((each) => each.label), chosen.system);
    fill(byId("driver"), ["the newest that supports it", ...platform().drivers], platform().drivers.indexOf(driver()) + 1);
    fill(byId("python"), platform().pythons.map((each) => each.name), chosen.python);
    byId("patches").checked = chosen.patches;
  }

  function show() {
    const found = search(chosen.search);
    if (found && found.gpus.size === 1 && chosen.gpu === null && found.products.every(sure)) {
      chosen.gpu = [...found.gpus][0];
      chosen.name = found.products.length ? found.products[0].name : "";
    }
    showFilters();
    showPopular();
    showMatches(found);
    showAnswer();
    showGrid(found);
    remember();
  }

  let atAnchor = false;

  function remember() {
    if (atAnchor) {
      atAnchor = false;
      return;
    }
    const words = new URLSearchParams();
    if (chosen.search) words.set("q", chosen.search);
    if (chosen.gpu !== null) words.set("gpu", data.gpus[chosen.gpu].arch);
    if (chosen.name) words.set("name", chosen.name);
    if (chosen.torch) words.set("torch", chosen.torch);
    words.set("system", platform().name);
    words.set("python", python().name.replace("Python ", ""));
    if (driver()) words.set("driver", driver());
    if (chosen.patches) words.set("patches", "1");
    history.replaceState(null, "", `#${words}`);
  }

  // What the page was made for, until its address says otherwise.
  function start() {
    move(Math.max(0, data.platforms.findIndex((each) => each.name === data.start.system)));
    chosen.python = Math.max(0, platform().pythons.findIndex((each) => each.name === data.start.python));
  }

  function decoded(text) {
    try {
      return decodeURIComponent(text);
    } catch {
      return "";
    }
  }

  // Only what the page knows is taken from an address; anything else in it is left at its default.
  function recall() {
    const words = new URLSearchParams(location.hash.slice(1));
    const system = data.platforms.findIndex((each) => each.name === words.get("system"));
    if (system >= 0) move(system);
    chosen.driver = branchOf(words.get("driver")) || chosen.driver;
    const version = platform().pythons.findIndex((each) => each.name === `Python ${words.get("python")}`);
    if (version >= 0) chosen.python = version;
    if (!location.hash) return;
    atAnchor = openAnchor(decoded(location.hash.slice(1)));
    if (atAnchor) return;
    const gpu = data.gpus.findIndex((each) => each.arch === words.get("gpu"));
    chosen.gpu = gpu >= 0 ? gpu : null;
    const named = products.find((each) => each.name === words.get("name"));
    chosen.name = named && gpusOf(named).includes(gpu) ? named.name : "";
    chosen.torch = platform().releases.includes(words.get("torch")) ? words.get("torch") : "";
    chosen.patches = words.get("patches") === "1";
    chosen.search = (words.get("q") || "").slice(0, 100);
    byId("search").value = chosen.search;
  }

  function arrows(event) {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    const cell = event.target.closest("td");
    if (!step || !cell) return;
    const line = cell.parentElement;
    const next = byId("grid").tBodies[0].rows[line.sectionRowIndex + step[0]];
    const button = next && next.cells[cell.cellIndex + step[1]] && next.cells[cell.cellIndex + step[1]].querySelector("button");
    event.preventDefault();
    if (!button || button.parentElement.tagName !== "TD") return;
    event.target.tabIndex = -1;
    button.tabIndex = 0;
    button.focus();
  }

  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("search").addEventListener("input", (event) => {
    chosen.search = event.target.value;
    chosen.gpu = null;
    chosen.name = "";
    chosen.torch = "";
    show();
  });
  byId("system").addEventListener("change", (event) => { move(Number(event.target.value)); show(); });
  byId("driver").addEventListener("change", (event) => { chosen.driver = platform().drivers[event.target.value - 1] || ""; show(); });
  byId("python").addEventListener("change", (event) => { chosen.python = Number(event.target.value); show(); });
  byId("patches").addEventListener("change", (event) => { chosen.patches = event.target.checked; show(); });
  byId("grid").addEventListener("keydown", arrows);
  addEventListener("hashchange", () => { recall(); show(); });
  start();
  recall();
  show();
})();
