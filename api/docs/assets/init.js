"use strict";

// Sends what a form of the reference asks for and shows the answer as text.
async function send(form) {
  const headers = {};
  const query = new URLSearchParams();
  let path = form.dataset.path;
  for (const input of form.querySelectorAll("input")) {
    if (input.value === "") continue;
    if (input.dataset.in === "path") path = path.replace("{" + input.name + "}", encodeURIComponent(input.value));
    else if (input.dataset.in === "query") query.append(input.name, input.value);
    else headers[input.name] = input.value;
  }
  const request = { method: form.dataset.method, headers };
  const body = form.querySelector("textarea");
  if (body && body.value.trim() !== "") {
    headers["Content-Type"] = "application/json";
    request.body = body.value;
  }
  const response = await fetch(path + (query.size ? "?" + query : ""), request);
  const text = await response.text();
  let shown = text;
  try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* it is no JSON: shown as it is */ }
  return [response.status + " " + response.statusText, shown];
}

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || !form.classList.contains("try")) return;
  event.preventDefault();
  const status = form.querySelector(".status");
  const answer = form.querySelector(".answer");
  status.textContent = "Sent.";
  try {
    const [line, text] = await send(form);
    status.textContent = line;
    answer.textContent = text.length > 200000 ? text.slice(0, 200000) + "\n… cut" : text;
    answer.hidden = text === "";
  } catch (error) {
    status.textContent = "No answer: " + error.message;
    answer.hidden = true;
  }
});
