"use strict";
// What a name means, by the command's own index and patterns, which the page carries: a GPU's number, "old" for a GPU that
// no build of the table is for, null for a name that is not known or stands for several.
function gpuNames({ gpus, names }) {
  const letters = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, "");
  const numbered = (number) => (number === "old" ? number : Number(number));
  const keys = new Map();
  for (const [number, words] of Object.entries(names.keys)) for (const word of words.split(" ")) keys.set(word, numbered(number));
  const { pasted, ...single } = names.patterns;
  const patterns = Object.fromEntries(Object.entries(single).map(([name, text]) => [name, new RegExp(text, "g")]));
  const products = Object.entries(names.products).flatMap(([number, list]) => list.map((name) => ({
    name, gpu: Number(number), glued: letters(name), words: name.toLowerCase().split(/[^a-z0-9]+/),
  })));

  function* forms(plain) {
    const bare = plain.replace(patterns.decoration, "");
    yield* [plain, bare, bare.replace(patterns.short, ""), bare.replace(/([0-9i])s$/, "$1super")];
    for (const { index, 1: digits } of bare.matchAll(patterns.memory)) yield bare.slice(0, index) + bare.slice(index + digits.length + 2);
  }

  // A name, or what is left of it without the brands in front.
  function withoutBrands(name) {
    for (let rest = name; rest; ) {
      if (keys.has(rest)) return keys.get(rest);
      const brand = names.brands.find((word) => rest.startsWith(word) && rest !== word);
      if (!brand) return undefined;
      rest = rest.slice(brand.length);
    }
    return undefined;
  }

  // sm_61, compute_61, 6.1, 61, gfx1100, gfx942:xnack-.
  function direct(plain) {
    const arch = plain.split(":")[0];
    const number = plain.match(/^(?:sm|compute)?_?([0-9.]+?)[af]?$/);
    return gpus.findIndex((gpu) => arch === gpu.arch || (number && gpu.capability && [gpu.capability, letters(gpu.capability)].includes(number[1])));
  }

  function ofCloud(plain) {
    const [instance] = plain.matchAll(patterns.cloud);
    return instance && names.clouds[letters(instance.slice(1).join(""))];
  }

  function look(text) {
    let plain = text.trim().toLowerCase().slice(0, 200);
    const gpu = direct(plain);
    if (plain && gpu >= 0) return gpu;
    const family = ofCloud(plain);
    if (family) return numbered(family);
    for (const pattern of pasted) plain = (plain.match(new RegExp(pattern)) || [plain, plain])[1];
    plain = plain.replace(patterns.counted, "");
    for (const words of [plain, plain.replace(patterns.board, "").replace(/ dc$/, ""), plain.replace(patterns.around, " ")]) {
      for (const form of forms(letters(words))) {
        const [, profile] = [...form.matchAll(patterns.instance)][0] || [];
        const named = withoutBrands(profile || form);
        if (named !== undefined) return named;
      }
    }
    if (letters(plain).match(patterns.old)) return "old";
    // A name of several, where those that are known agree.
    const parts = text.split(patterns.parts);
    const meant = new Set(parts.length > 1 ? parts.map(look).filter((found) => found !== null) : []);
    return meant.size === 1 ? [...meant][0] : null;
  }

  // Products that hold these words: whole words first, then beginnings, then letters anywhere; the shortest first.
  function matching(query) {
    const words = query.toLowerCase().split(/[^a-z0-9]+/).filter((word) => word && !["nvidia", "intel"].includes(word));
    const glued = letters(query).replace(/^nvidia/, "");
    const ways = [
      (product) => words.every((word) => product.words.includes(word)),
      (product) => words.every((word) => product.words.some((own) => own.startsWith(word))),
      (product) => product.glued.includes(glued),
    ];
    const found = words.length ? ways.map((way) => products.filter(way)).find((list) => list.length) : null;
    return (found || []).sort((a, b) => a.name.startsWith("GRID ") - b.name.startsWith("GRID ") || a.name.length - b.name.length);
  }

  // What is written like this, for a name that nobody knows.
  function similar(text) {
    const pairs = (word) => new Set([...word].slice(1).map((letter, place) => word[place] + letter));
    const wanted = pairs(letters(text));
    const rank = ({ glued }) => {
      const own = pairs(glued);
      return [...wanted].filter((pair) => own.has(pair)).length / (wanted.size + own.size || 1);
    };
    return products.map((product) => [rank(product), product]).filter(([worth]) => worth > 0.25)
      .sort((a, b) => b[0] - a[0]).slice(0, 6).map(([, product]) => product);
  }

  // How a product is shown that was typed: as it is sold, where the name is one; else as it was typed.
  function shown(text) {
    const plain = letters(text);
    const same = products.filter((product) => product.glued === plain || (product.glued.endsWith(plain) && names.brands.some((brand) => product.glued === brand + plain && brand !== "grid")));
    return same.length ? same.sort((a, b) => a.name.length - b.name.length)[0].name : text.trim().slice(0, 100);
  }

  return { look, matching, similar, shown };
}
