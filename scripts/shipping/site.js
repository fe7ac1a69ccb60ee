// What is copied of a terminal are its commands, without the prompt and what they print.
for (const block of document.querySelectorAll("pre > code")) {
  const lines = block.textContent.trimEnd().split("\n");
  const commands = [];
  let goes = false;
  for (const line of lines) {
    if (line.startsWith("$ ")) commands.push(line.slice(2));
    else if (goes) commands.push(line);
    goes = (line.startsWith("$ ") || goes) && line.endsWith("\\");
  }
  const text = block.className.includes("console") ? commands.join("\n") : lines.join("\n");
  if (!text) continue;
  const copy = Object.assign(document.createElement("button"), { type: "button", textContent: "copy" });
  copy.dataset.copies = text;
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    copy.textContent = "copied";
    setTimeout(() => { copy.textContent = "copy"; }, 2000);
  });
  block.after(copy);
}

// The search of the documents: search.js, which is fetched at the first word, hands its sections to `found`.
const aside = document.querySelector(".docs aside");
if (aside) {
  const field = Object.assign(document.createElement("input"), { type: "search", placeholder: "Search" });
  field.setAttribute("aria-label", "Search the documents");
  const list = document.createElement("ol");
  const more = Object.assign(document.createElement("button"), { type: "button", textContent: "All documents" });
  more.addEventListener("click", () => aside.classList.toggle("short"));
  aside.classList.add("short");
  aside.prepend(field, list, more);
  let sections = [];
  const show = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rank = ([, title, heading, text]) => {
      const [head, all] = [`${title} ${heading}`.toLowerCase(), text.toLowerCase()];
      return words.every((word) => head.includes(word) || all.includes(word)) ? words.filter((word) => head.includes(word)).length : -1;
    };
    const hits = words.length ? sections.map((row) => [rank(row), row]).filter(([worth]) => worth >= 0).sort((a, b) => b[0] - a[0]).slice(0, 12) : [];
    list.replaceChildren(...hits.map(([, [to, title, heading, text]]) => {
      const at = Math.max(text.toLowerCase().indexOf(words[0]) - 30, 0);
      const line = document.createElement("li");
      const about = Object.assign(document.createElement("p"), { textContent: text.slice(at, at + 90) });
      line.append(Object.assign(document.createElement("a"), { href: `../${to}`, textContent: heading === title ? title : `${title}: ${heading}` }), about);
      return line;
    }));
    if (words.length && sections.length && !hits.length) list.append("Nothing has these words.");
  };
  window.found = (rows) => { sections = rows; show(); };
  field.addEventListener("focus", () => document.head.append(Object.assign(document.createElement("script"), { src: "../search.js" })), { once: true });
  field.addEventListener("input", show);
}
