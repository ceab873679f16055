"use strict";

// Looks for words in the headings and beginnings of the guides' sections. The index is fetched once, from this service.
const most = 30;
let index;

async function search(text) {
  index ??= fetch("/docs/guide.json").then((response) => response.json());
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return undefined;
  const hits = [];
  for (const section of await index) {
    const title = section.title.toLowerCase();
    const whole = title + " " + section.text.toLowerCase();
    if (words.every((word) => whole.includes(word))) hits.push([words.filter((word) => title.includes(word)).length, section]);
  }
  return hits.sort(([a], [b]) => b - a).map(([, section]) => section);
}

document.addEventListener("DOMContentLoaded", () => {
  const input = document.getElementById("words");
  document.getElementById("search").addEventListener("submit", (event) => event.preventDefault());
  input.addEventListener("input", async () => {
    const asked = input.value;
    const found = await search(asked);
    if (input.value !== asked) return;
    const items = (found ?? []).slice(0, most).map((section) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = "/docs/guide/" + encodeURIComponent(section.page) + "#" + section.id;
      link.textContent = section.title + " (" + section.page + ")";
      item.append(link);
      return item;
    });
    document.getElementById("hits").replaceChildren(...items);
    document.getElementById("found").textContent = found ? found.length + " sections" : "";
  });
});
