// What each GPU, each driver and each Python says of a build was judged by torchpick before this page was written. What
// follows only adds it up: a build runs where none of them holds a text against it.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const { look, matching, similar, shown } = gpuNames(data);
  const chosen = { gpu: null, name: "", torch: "", system: 0, driver: "", python: 0, patches: false, search: "", way: "pip" };

  const platform = () => data.platforms[chosen.system];
  const driver = () => chosen.driver;
  const python = () => platform().pythons[chosen.python];

  // By system, Python, GPU and driver, as each letter that is typed asks for all of them.
  const judged = new Map();

  function releasesOf(gpu, asked = driver()) {
    const key = [chosen.system, chosen.python, gpu, asked].join();
    if (!judged.has(key)) judged.set(key, judge(gpu, asked));
    return judged.get(key);
  }

  // The builds of each release for one GPU, newest release first, best build first; null where it is not found here.
  // What GPU, driver and Python say of a build is added up; a GPU says other things where the driver relies on
  // minor-version compatibility for the build's CUDA.
  function judge(gpu, asked) {
    const own = platform().gpus[gpu];
    if (!own) return null;
    const used = own.driver && (asked || own.driver);
    const says = platform().says[used] || { objects: {}, relies: [], refuses: {} };
    const filled = (place, torch, backend) => data.texts[place].replaceAll("{gpu}", data.gpus[gpu].arch)
      .replaceAll("{python}", python().name).replaceAll("{t}", torch).replaceAll("{b}", backend);
    const releases = new Map();
    platform().builds.forEach(([torch, backend, cuda, command, glibc, evidence, vendor, noWheel], place) => {
      const relies = says.relies.includes(cuda);
      const verdict = (relies && own.abroad ? own.abroad : own.home)[place];
      if (verdict === null) return;
      const [why, fit, how, notes] = data.verdicts[verdict];
      const beside = python().wheels[place];
      const hasWheel = beside !== null;
      const against = [says.refuses[gpu], ...why, says.objects[cuda], hasWheel ? undefined : noWheel].filter((each) => each !== undefined);
      const text = (number) => filled(number, torch, backend);
      if (!releases.has(torch)) releases.set(torch, []);
      // Texts are made when they are shown: most never are.
      releases.get(torch).push({
        torch, backend, vendor, fit, relies, runs: against.length === 0, lives: against.length === Number(!hasWheel), jit: fit === 1,
        get against() { return against.map(text); },
        get how() { return text(how); },
        get notes() { return notes.map(text); },
        get command() { return text(command).replaceAll("device-ARCH", `device-${data.gpus[gpu].arch}`).replace(/\S*\[\S*/g, '"$&"'); },
        get companions() { return hasWheel ? text(beside) : ""; },
        get glibc() { return text(glibc); },
        get evidence() { return text(evidence); },
      });
    });
    for (const builds of releases.values()) builds.sort((a, b) => a.vendor - b.vendor || b.fit - a.fit || a.relies - b.relies);
    return { used, releases };
  }

  const bestOf = (builds) => (builds || []).find((build) => build.runs);
  const spoken = (build) => `torch ${build.torch}${build.backend === "cpu" ? "" : ` with ${build.backend}`}`;

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

  // `words` of a terminal as code.
  const quoted = (text) => text.split("`").map((part, number) => (number % 2 ? make("code", { textContent: part }) : part));

  function button(label, className, act) {
    const element = make("button", { type: "button", className, textContent: label });
    element.addEventListener("click", act);
    return element;
  }

  // ---- addresses: #gtx-1080-ti and #sm_61 open with that GPU, and every state has one of its own ----------------------
  function address(changes = {}) {
    const state = { ...chosen, ...changes };
    const words = new URLSearchParams();
    if (state.search) words.set("q", state.search);
    if (state.gpu !== null) words.set("gpu", data.gpus[state.gpu].arch);
    if (state.name) words.set("name", state.name);
    if (state.torch) words.set("torch", state.torch);
    words.set("system", platform().name);
    words.set("python", python().name.replace("Python ", ""));
    if (state.driver) words.set("driver", state.driver);
    if (state.way !== "pip") words.set("for", state.way);
    if (state.patches) words.set("patches", "1");
    return `#${words}`;
  }

  // Whether the address was a name, which then stays as it is until something is chosen.
  function openAnchor(anchor) {
    if (!anchor || anchor.includes("=")) return false;
    const name = anchor.replaceAll("-", " ");
    const gpu = look(anchor) ?? look(name);
    if (gpu === null) return false;
    chosen.torch = "";
    take(gpu, anchor === data.gpus[gpu]?.arch ? "" : shown(name), anchor === data.gpus[gpu]?.arch ? anchor : shown(name));
    return true;
  }

  // A GPU by its number, with the system on which it exists.
  function take(gpu, name, search) {
    chosen.search = search;
    byId("search").value = search;
    chosen.name = gpu === "old" ? "" : name;
    chosen.gpu = gpu === "old" ? null : gpu;
    if (chosen.gpu === null || platform().gpus[chosen.gpu]) return;
    const system = data.platforms.findIndex((each) => each.gpus[chosen.gpu]);
    if (system >= 0) move(system);
  }

  // ---- what the browser tells: the system, and by the renderer of WebGL the GPU -----------------------------------------
  function renderer() {
    try {
      const gl = document.createElement("canvas").getContext("webgl");
      const names = gl.getExtension("WEBGL_debug_renderer_info");
      const text = String(gl.getParameter(names ? names.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
      const [, inner] = text.match(/^ANGLE \([^,]*, (?:ANGLE Metal Renderer: )?(.*?)(?: \(0x[0-9a-f]+\))?(?: Direct3D.*| \(.*| OpenGL.*|, .*)?\)$/i) || [null, text];
      return inner.split("/")[0].replace(/^Mesa |, or similar$/g, "").trim();
    } catch {
      return "";
    }
  }

  function guess() {
    const agent = `${navigator.userAgentData?.platform || navigator.platform} ${navigator.userAgent}`;
    const card = renderer();
    const arm = /aarch64|arm64/i.test(agent);
    const system = /win/i.test(agent) && !/darwin/i.test(agent) ? "windows-x86_64" : /mac/i.test(agent) ? (/apple|^$/i.test(card) ? "macos-arm64" : "macos-x86_64")
      : arm ? "linux-aarch64" : "linux-x86_64";
    move(Math.max(0, data.platforms.findIndex((each) => each.name === system)));
    // Safari says no more than that it is Apple's.
    const gpu = look(card === "Apple GPU" ? "apple silicon" : card);
    return { card: typeof gpu === "number" && platform().gpus[gpu] ? card : "", gpu };
  }

  function showGuess(card) {
    byId("guess").hidden = !card;
    byId("guess").textContent = `A guess by what this browser says: ${card} on ${platform().label}. Change what is not so.`;
  }

  // ---- what is shown ------------------------------------------------------------------------------------------------
  function showMatches(found) {
    byId("found").textContent = "";
    byId("matches").replaceChildren(...found.products.slice(0, 8).map((product) => {
      const arch = data.gpus[product.gpu].arch;
      const choice = button(`${product.name} (${arch})`, "", () => { take(product.gpu, product.name, chosen.search); chosen.torch = ""; show(); });
      choice.setAttribute("aria-pressed", String(chosen.name === product.name));
      return make("li", {}, choice);
    }));
    const more = found.products.length > 8 ? `, the first 8 of ${found.products.length}` : "";
    if (found.text) byId("found").textContent = found.products.length ? `${found.text}${more}:` : found.text;
  }

  // What was typed: the GPU that the command takes it for, others whose names hold it, or names like it.
  function search(query) {
    const text = query.trim();
    if (!text) return { gpu: null, products: [], gpus: null, text: "" };
    const gpu = look(text);
    const generation = data.gpus.flatMap((each, place) => (each.generation.toLowerCase() === text.toLowerCase() ? [place] : []));
    if (generation.length) return { gpu: null, products: [], gpus: new Set(generation), text: "" };
    if (gpu === "old") return { gpu: null, products: [], gpus: new Set(), text: `No build of the table runs on ${shown(text)}: no release has code for it.` };
    const products = matching(text);
    if (gpu !== null) return { gpu, products: products.filter((product) => product.gpu !== gpu), gpus: new Set([gpu]), text: products.some((product) => product.gpu !== gpu) ? "Others of that name" : "" };
    if (products.length) return { gpu: null, products, gpus: new Set(products.map((product) => product.gpu)), text: "Which of these" };
    const near = similar(text);
    return { gpu: null, products: near, gpus: new Set(), text: `No GPU of that name is known. ${near.length ? "Similar names" : "A capability such as 8.6 or a target such as gfx1100 also does."}` };
  }

  const minorOf = (torch) => torch.split(".").slice(0, 2).join(".");

  // By minor release, oldest first, the newest patch that runs, whatever Python it is for.
  const livingOf = (builds) => bestOf(builds) || (builds || []).find((build) => build.lives);

  function cellsOf(gpu, looked) {
    const newest = driver() && platform().gpus[gpu].driver ? releasesOf(gpu, platform().gpus[gpu].driver).releases : looked.releases;
    const minors = [...new Set(platform().releases.map(minorOf))].reverse();
    return minors.map((minor) => {
      const patches = platform().releases.filter((torch) => minorOf(torch) === minor && looked.releases.has(torch));
      const best = patches.map((torch) => livingOf(looked.releases.get(torch))).find(Boolean);
      const later = patches.some((torch) => livingOf(newest.get(torch)));
      return { minor, best, kind: best ? (best.jit ? "jit" : "runs") : later ? "newer" : patches.length ? "none" : "void" };
    });
  }

  // The releases as a row, oldest first: where the GPU begins, where it ends.
  function timeline(gpu, looked, labels) {
    const cells = cellsOf(gpu, looked);
    const running = cells.filter((cell) => cell.best);
    const ends = running.length ? `runs from torch ${running[0].best.torch} to ${running.at(-1).best.torch}` : "no release runs";
    const line = make("div", { className: "timeline" });
    line.setAttribute("role", "img");
    line.setAttribute("aria-label", `Releases ${cells[0].minor} to ${cells.at(-1).minor}: ${ends}`);
    const words = { newer: "with a newer driver", none: "does not run", void: "no build is known" };
    for (const { minor, kind, best } of cells) {
      line.append(make("span", { className: kind, title: best ? `${spoken(best)}${best.runs ? "" : ", for another Python"}` : `torch ${minor}: ${words[kind]}` }, labels ? make("i", { textContent: minor }) : ""));
    }
    return line;
  }

  const POPULAR = ["Tesla K80", "GTX 980 Ti", "Tesla P100", "GTX 1080 Ti", "Tesla V100", "RTX 2080 Ti", "A100", "RTX 3090", "RTX 4090", "H100", "RTX 5090", "RX 7900 XTX", "RX 9070", "MI300X", "Arc B580", "M3 Max", "CPU"];

  function showPopular() {
    byId("often").hidden = chosen.gpu !== null;
    if (chosen.gpu !== null) return;
    const rows = POPULAR.map((name) => [name, name === "CPU" ? data.gpus.length - 1 : look(name)]).filter(([, gpu]) => platform().gpus[gpu]);
    byId("popular").replaceChildren(...rows.map(([name, gpu], number) => {
      const looked = releasesOf(gpu);
      const best = bestOf(looked.releases.get(newestOf(looked.releases)));
      const link = make("a", { href: address({ gpu, name, search: name }) }, make("b", { textContent: name }), make("span", { textContent: best ? `${best.torch} · ${best.backend}` : "no build" }));
      return make("div", { className: "life" }, link, timeline(gpu, looked, number === rows.length - 1));
    }));
  }

  function showGrid(found) {
    const table = byId("grid");
    const rows = data.gpus.map((gpu, place) => [gpu, place, releasesOf(place)])
      .filter(([, place, looked]) => looked && (!found.gpus || !found.gpus.size || found.gpus.has(place)));
    // Of each release the newest patch, and the one of the answer.
    const answered = chosen.gpu !== null && platform().gpus[chosen.gpu] ? newestOf(releasesOf(chosen.gpu).releases) : "";
    const listed = platform().releases.filter((torch, place) => chosen.patches || torch === answered || platform().newest.includes(place));
    // What lies before the first release that runs on any of them is left out.
    const oldest = listed.findLastIndex((torch) => rows.some(([, , looked]) => bestOf(looked.releases.get(torch))));
    const releases = listed.slice(0, oldest + 1 || undefined);
    const head = make("tr", {}, make("th", { scope: "col", textContent: "GPU" }));
    for (const torch of releases) head.append(make("th", { scope: "col", textContent: torch }));
    const body = make("tbody", {}, ...rows.map(([gpu, place, looked]) => row(gpu, place, looked.releases, releases)));
    table.replaceChildren(make("thead", {}, head), body);
    const first = table.querySelector("td.chosen button") || table.querySelector("td button");
    if (first) first.tabIndex = 0;
    if (!rows.length) body.append(make("tr", {}, make("td", { colSpan: releases.length + 1, textContent: "Not found on this system." })));
  }

  function row(gpu, place, looked, releases) {
    const name = button("", "", () => select(place, ""));
    name.append(make("b", { textContent: gpu.examples || gpu.generation }), make("span", { textContent: [gpu.generation, gpu.arch].filter(Boolean).join(", ") }));
    const line = make("tr", { className: chosen.gpu === place ? "chosen" : "" }, make("th", { scope: "row" }, name));
    line.dataset.arch = gpu.arch;
    for (const torch of releases) {
      const best = bestOf(looked.get(torch));
      const kind = best ? (best.jit ? "jit" : "runs") : "none";
      const cell = button(best ? best.backend + (best.jit ? "*" : "") : "–", "", () => select(place, torch));
      cell.tabIndex = -1;
      cell.setAttribute("aria-label", `torch ${torch} on ${gpu.arch}: ${best ? best.backend : "none runs"}`);
      line.append(make("td", { className: `${kind}${chosen.gpu === place && chosen.torch === torch ? " chosen" : ""}` }, cell));
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
    panel.replaceChildren();
    if (chosen.gpu === null) return;
    const gpu = data.gpus[chosen.gpu];
    const about = [gpu.generation, gpu.arch].filter(Boolean).join(", ");
    panel.append(make("h2", { id: "answer-title", tabIndex: -1 }, chosen.name || about, chosen.name ? make("small", { textContent: ` ${about}` }) : null));
    const looked = releasesOf(chosen.gpu);
    if (!looked) {
      panel.append(make("p", { textContent: `It is not found on ${platform().label}.` }), elsewhere());
      return;
    }
    const newest = newestOf(looked.releases);
    const facts = [platform().label, python().name];
    if (looked.used) facts.push(`driver ${looked.used}${driver() ? "" : ", the newest that supports it"}`);
    const best = newest && bestOf(looked.releases.get(newest));
    const lead = make("p", { className: "lead" }, ...(best ? ["Newest that runs: ", make("b", { textContent: spoken(best) })] : ["No build runs."]));
    const link = make("a", { href: address(), textContent: "link to this answer" });
    panel.append(lead, make("p", { className: "soft" }, `${facts.join(" · ")} · `, link));
    const torch = looked.releases.has(chosen.torch) ? chosen.torch : newest || [...looked.releases.keys()][0];
    const taken = bestOf(looked.releases.get(torch));
    if (torch !== newest) panel.append(make("h3", { textContent: `torch ${torch}` }));
    if (taken) panel.append(commands(taken), ...taken.notes.map((note) => make("p", { className: "soft note" }, ...quoted(note))));
    const newer = [...looked.releases.keys()].filter((each) => newest && place(each) < place(newest));
    if (newer.length && torch === newest) panel.append(whyNotNewer(newer[0], looked.releases));
    panel.append(timeline(chosen.gpu, looked, true), byId("legend").cloneNode(true));
    panel.lastChild.removeAttribute("id");
    const older = torch === newest ? olderDrivers(newest) : null;
    if (older) panel.append(older);
    panel.append(builds(torch, looked.releases.get(torch), taken));
    if (torch !== newest && newest) panel.append(button(`show torch ${newest}`, "plain", () => select(chosen.gpu, "")));
    if (newer.length && torch === newest) panel.append(otherReleases(newer, looked.releases));
  }

  const place = (torch) => platform().releases.indexOf(torch);

  // ---- commands -----------------------------------------------------------------------------------------------------
  // By way of installing: what to copy, and a word on it.
  function waysOf(build) {
    const pins = build.vendor ? [] : build.companions.split(", ").filter(Boolean).map((each) => each.replace(" ", "=="));
    const line = [build.command, ...pins].join(" ");
    const [, url] = line.match(/--index-url (\S+)/) || [];
    const ways = { pip: [line, "Run it in your project's environment (a venv)."], uv: [`uv ${line}`, "Run it in your project's environment."] };
    const here = `torchpick install torch${pins.length ? " torchvision" : ""}`;
    ways.torchpick = [here, "On that machine: it reads GPU and driver itself, and says why."];
    if (url && !line.includes("[")) ways.project = [project(url, line.match(/\b[a-z]+==\S+/g)), "In pyproject.toml; then uv sync."];
    if (platform().name.startsWith("linux")) {
      const flags = { mps: "", cpu: "", xpu: "--device /dev/dri " }[data.gpus[chosen.gpu].arch] ?? (platform().gpus[chosen.gpu].driver ? "--gpus all " : "--device /dev/kfd --device /dev/dri ");
      ways.Dockerfile = [`FROM python:${python().name.replace(/Python |t$/g, "")}-slim\nRUN ${line.replace("pip install", "python -m pip install --no-cache-dir")}`, `docker run ${flags}IMAGE`];
    }
    return ways;
  }

  function project(url, pins) {
    const names = pins.map((pin) => pin.split("==")[0]);
    const lines = [
      "[project]", 'name = "app"', 'version = "0.1.0"', `requires-python = "==${python().name.replace(/Python |t$/g, "")}.*"`,
      `dependencies = [${pins.map((pin) => `"${pin}"`).join(", ")}]`, "", "[tool.uv.sources]", ...names.map((name) => `${name} = { index = "pytorch" }`),
      "", "[[tool.uv.index]]", 'name = "pytorch"', `url = "${url}"`, "explicit = true",
    ];
    return lines.join("\n");
  }

  function commands(build) {
    const ways = waysOf(build);
    const way = ways[chosen.way] ? chosen.way : "pip";
    const [command, about] = ways[way];
    const choices = make("div", { className: "ways" }, ...Object.keys(ways).map((name) => {
      const choice = button(name, "", () => { chosen.way = name; show(); byId("answer").querySelector("[aria-pressed=true]").focus(); });
      choice.setAttribute("aria-pressed", String(name === way));
      return choice;
    }));
    choices.setAttribute("role", "group");
    choices.setAttribute("aria-label", "Command for");
    const code = make("code", { textContent: command });
    const copy = button("copy", "", () => copyText(command, code, copy));
    copy.setAttribute("aria-label", `copy: ${way}`);
    return make("div", { className: "commands" }, choices, make("div", { className: "command" }, code, copy), make("p", { className: "soft", textContent: about }));
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
      const answer = spoken(bestOf(releases.get(torch)));
      const number = parseInt(version, 10);
      if (answer === before) spans[spans.length - 1].first = number;
      else spans.push({ answer, version, first: number, last: lowest - 1 });
      [lowest, before] = [number, answer];
    }
    const list = make("ul", { className: "builds" });
    for (const { answer, version, first, last } of spans.slice(1)) {
      list.append(make("li", {}, button(`driver ${first} to ${last}`, "plain", () => { chosen.driver = branchOf(version); show(); }), ` ${answer}`));
    }
    if (!list.children.length) return null;
    const how = platform().name.startsWith("windows") ? "nvidia-smi prints it in its first line; so does the NVIDIA app under System." : "nvidia-smi prints it in its first line.";
    return make("div", {}, make("h3", { textContent: "Which driver is it?" }), make("p", { className: "soft", textContent: `${how} With an older one:` }), list);
  }

  function listed(builds) {
    const list = make("ul", { className: "builds" });
    for (const build of [...builds].sort((a, b) => Number(b.runs) - Number(a.runs))) {
      const kind = build.runs ? (build.jit ? "jit" : "runs") : "none";
      const item = make("li", {}, make("span", { className: `tag ${kind}`, textContent: build.backend }), build.runs ? build.how : "not picked");
      const lines = build.runs ? build.notes : build.against;
      if (lines.length) item.append(make("ul", {}, ...lines.map((each) => make("li", {}, ...quoted(each)))));
      list.append(item);
    }
    return list;
  }

  function builds(torch, all, best) {
    const facts = best ? [best.companions && `with ${best.companions}`, best.glibc && `glibc ${best.glibc} or newer`, best.evidence] : [];
    return make("details", { open: !best }, make("summary", { textContent: `the builds of torch ${torch}` }), listed(all), make("p", { className: "soft", textContent: facts.filter(Boolean).join(" · ") }));
  }

  // In one sentence, by the build of the newest release to which the least is held against.
  function whyNotNewer(torch, releases) {
    const [nearest] = [...releases.get(torch)].sort((a, b) => a.vendor - b.vendor || a.against.length - b.against.length);
    return make("p", { className: "why" }, make("b", { textContent: `Why not ${torch}? ` }), `${nearest.backend}: ${nearest.against[0]}.`);
  }

  function otherReleases(newer, releases) {
    const details = make("details", {}, make("summary", { textContent: `why nothing newer: ${newer.length} ${newer.length === 1 ? "release" : "releases"}` }));
    for (const torch of newer) details.append(make("h3", { textContent: `torch ${torch}` }), listed(releases.get(torch)));
    return details;
  }

  function elsewhere() {
    const systems = data.platforms.map((each, system) => [each, system]).filter(([each]) => each.gpus[chosen.gpu]);
    return make("p", {}, ...systems.map(([each, system]) => button(`show ${each.label}`, "plain", () => { move(system); show(); })));
  }

  async function copyText(command, code, copy) {
    try {
      await navigator.clipboard.writeText(command);
    } catch {
      const range = document.createRange();
      range.selectNodeContents(code);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      document.execCommand("copy");
    }
    copy.textContent = "copied";
    setTimeout(() => { copy.textContent = "copy"; }, 2000);
  }

  // ---- filters --------------------------------------------------------------------------------------------------------
  function fill(choice, labels, number) {
    choice.replaceChildren(...labels.map((label, value) => make("option", { value: String(value), textContent: label })));
    choice.value = String(number);
  }

  const branchOf = (version) => platform().drivers.find((each) => parseInt(each, 10) === parseInt(version, 10)) || "";

  // To another system, keeping the driver's branch and the Python where it has them.
  function move(system) {
    const [branch, name] = [driver(), python()?.name];
    chosen.system = system;
    chosen.driver = branchOf(branch);
    const same = platform().pythons.findIndex((each) => each.name === name);
    const usual = platform().pythons.findIndex((each) => each.name === "Python 3.12");
    chosen.python = Math.max(same, same < 0 ? usual : 0, 0);
  }

  function showFilters() {
    fill(byId("system"), data.platforms.map((each) => each.label), chosen.system);
    fill(byId("driver"), ["the newest that supports it", ...platform().drivers], platform().drivers.indexOf(driver()) + 1);
    fill(byId("python"), platform().pythons.map((each) => each.name), chosen.python);
    const own = chosen.gpu === null ? null : platform().gpus[chosen.gpu];
    byId("driver-field").hidden = own ? !own.driver : !platform().drivers.length;
    byId("patches").checked = chosen.patches;
  }

  function show() {
    const found = search(chosen.search);
    if (found.gpu !== null && chosen.gpu === null) take(found.gpu, shown(chosen.search), chosen.search);
    showFilters();
    showPopular();
    showMatches(found);
    showAnswer();
    showGrid(found);
    remember();
  }

  let atAnchor = false;

  function remember() {
    if (!atAnchor) history.replaceState(null, "", address());
    atAnchor = false;
  }

  // What the page was made for, or what the browser says, until its address says otherwise.
  function start() {
    move(Math.max(0, data.platforms.findIndex((each) => each.name === data.start.system)));
    chosen.python = Math.max(0, platform().pythons.findIndex((each) => each.name === data.start.python));
    if (data.start.system) return;
    const { card, gpu } = guess();
    if (location.hash) return;
    if (card) take(gpu, shown(card), card);
    showGuess(card);
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
    if (!location.hash) return;
    const words = new URLSearchParams(location.hash.slice(1));
    const system = data.platforms.findIndex((each) => each.name === words.get("system"));
    if (system >= 0) move(system);
    chosen.driver = branchOf(words.get("driver")) || (system >= 0 ? "" : chosen.driver);
    const version = platform().pythons.findIndex((each) => each.name === `Python ${words.get("python")}`);
    if (version >= 0) chosen.python = version;
    atAnchor = openAnchor(decoded(location.hash.slice(1)));
    if (atAnchor) return;
    const gpu = data.gpus.findIndex((each) => each.arch === words.get("gpu"));
    chosen.gpu = gpu >= 0 ? gpu : null;
    chosen.search = (words.get("q") || "").slice(0, 100);
    byId("search").value = chosen.search;
    const name = (words.get("name") || words.get("q") || "").slice(0, 100);
    chosen.name = gpu >= 0 && name !== data.gpus[gpu].arch && (look(name) === gpu || (name === "CPU" && data.gpus[gpu].arch === "cpu")) ? shown(name) : "";
    chosen.torch = platform().releases.includes(words.get("torch")) ? words.get("torch") : "";
    chosen.patches = words.get("patches") === "1";
    chosen.way = words.get("for") || "pip";
  }

  function arrows(event) {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    const cell = event.target.closest("td");
    if (!step || !cell) return;
    const line = cell.parentElement;
    const next = byId("grid").tBodies[0].rows[line.sectionRowIndex + step[0]];
    const target = next && next.cells[cell.cellIndex + step[1]] && next.cells[cell.cellIndex + step[1]].querySelector("button");
    event.preventDefault();
    if (!target || target.parentElement.tagName !== "TD") return;
    event.target.tabIndex = -1;
    target.tabIndex = 0;
    target.focus();
  }

  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("search").addEventListener("input", (event) => {
    byId("guess").hidden = true;
    Object.assign(chosen, { search: event.target.value, gpu: null, name: "", torch: "" });
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
  document.documentElement.classList.remove("fills");
})();
