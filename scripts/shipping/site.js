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
