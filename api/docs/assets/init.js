"use strict";

// A library inside scalar.js asks by Function("") whether it may make code at run time. The page's policy
// forbids that; told so beforehand, the library does not ask and no violation is reported.
globalThis.__zod_globalConfig = { jitless: true };

document.addEventListener("DOMContentLoaded", () => {
  Scalar.createApiReference("#reference", {
    url: "/openapi.json",
    withDefaultFonts: false,
    telemetry: false,
    hideClientButton: true,
    showDeveloperTools: "never",
    agent: { disabled: true },
    mcp: { disabled: true },
    proxyUrl: "",
  });
});
