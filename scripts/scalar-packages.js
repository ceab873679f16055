// Helper of scalar.sh. "names <bundle>" lists the npm packages inside a bundle from the
// source map beside it; "licenses <folder of tgz files> <licence of Scalar> <version> <out>"
// writes npm.tsv and the texts.
"use strict";
const fs = require("fs");
const path = require("path");
const { createHash } = require("crypto");
const { execFileSync } = require("child_process");

// Packages that were bundled a second time are named in region comments, others in
// the paths of the sources. Tailwind's style sheet is named by its banner only.
function names(bundle) {
	const found = new Set();
	const add = (text) => {
		for (const m of text.matchAll(/node_modules\/\.pnpm\/([^/\s]+)\/node_modules\/((?:@[^/\s]+\/)?[^/\s]+)/g)) {
			const version = m[1].slice(m[2].length + 1).split(/[_(]/)[0];
			found.add(`${m[2]}@${version}`);
		}
	};
	const { sources, sourcesContent } = JSON.parse(fs.readFileSync(`${bundle}.map`, "utf8"));
	sources.forEach(add);
	for (const text of sourcesContent) {
		for (const m of (text || "").matchAll(/#region ([^\n]+)/g)) add(m[1]);
	}
	for (const m of fs.readFileSync(bundle, "utf8").matchAll(/\/\*! (tailwindcss) v([0-9.]+)/g)) found.add(`${m[1]}@${m[2]}`);
	console.log([...found].sort().join("\n"));
}

const mit = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`;

function keep(out, text) {
	text = text.replaceAll("\r", "");
	const name = createHash("sha256").update(text).digest("hex").slice(0, 16);
	fs.writeFileSync(path.join(out, "texts", `${name}.txt`), text);
	return name;
}

// A package without a licence file gets the text that its package.json names.
function stated(p) {
	if (p.license !== "MIT") throw new Error(`${p.name} has no licence text and states ${p.license}`);
	const author = typeof p.author === "string" ? p.author : p.author?.name;
	const holder = (author || `the authors of ${p.name}`).replace(/ [<(].*/, "");
	return `The MIT License (stated in package.json)\n\nCopyright (c) ${holder}\n\n${mit}`;
}

function licenses(dir, own, version, out) {
	const rows = [["@scalar/api-reference", version, "MIT", keep(out, fs.readFileSync(own, "utf8"))]];
	for (const file of fs.readdirSync(dir).filter((f) => f.endsWith(".tgz"))) {
		const tgz = path.join(dir, file);
		const tar = (...args) => execFileSync("tar", args, { encoding: "utf8", maxBuffer: 1 << 28 });
		const entries = tar("tzf", tgz).split("\n");
		const read = (name) => tar("xzOf", tgz, name);
		const p = JSON.parse(read(entries.find((e) => /^[^/]+\/package\.json$/.test(e))));
		const files = entries.filter((e) => /^[^/]+\/(licen[cs]e|notice|copying)[^/]*$/i.test(e)).sort();
		const texts = files.length ? files.map(read) : [stated(p)];
		rows.push([p.name, p.version, p.license, texts.map((t) => keep(out, t)).join(" ")]);
	}
	rows.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : a[1] < b[1] ? -1 : 1));
	fs.writeFileSync(path.join(out, "npm.tsv"), rows.map((r) => r.join("\t") + "\n").join(""));
}

const [command, ...args] = process.argv.slice(2);
if (command === "names") names(...args);
else licenses(...args);
