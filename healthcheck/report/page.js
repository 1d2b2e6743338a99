
"use strict";
(() => {
  const source = document.getElementById("data");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const grid = document.getElementById("grid");
  const panel = document.getElementById("sample");
  const right = new Set(["right", "loose"]);

  // Text only: what stands in the data was written by others.
  function element(name, className, text) {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  const byProblem = data.problems.map(() => []);
  for (const sample of data.samples) byProblem[sample.p][sample.r] = sample;
  const rightOf = (place) => byProblem[place].filter((sample) => right.has(sample.o)).length;

  const strips = [];
  for (const tier of new Set(data.problems.map((problem) => problem.tier))) {
    const places = data.problems.map((_, place) => place).filter((place) => data.problems[place].tier === tier && byProblem[place].length);
    places.sort((one, other) => rightOf(one) - rightOf(other) || one - other);
    if (!places.length) continue;
    if (tier) grid.append(element("h3", "", tier));
    const row = element("div", "strips");
    for (const place of places) {
      const strip = element("div", "strip");
      const cells = byProblem[place].filter(Boolean).map((sample) => {
        const cell = element("button", "cell " + sample.o);
        cell.type = "button";
        cell.tabIndex = -1;
        cell.setAttribute("aria-label", `${data.problems[place].id}, sample ${sample.r + 1}: ${data.outcomes[sample.o]}`);
        cell.setAttribute("aria-pressed", "false");
        cell.sample = sample;
        strip.append(cell);
        return cell;
      });
      strips.push(cells);
      row.append(strip);
    }
    grid.append(row);
  }
  if (data.left_out) grid.append(element("p", "small", `${data.left_out} more problems are in ${data.bank} and ${data.journal}.`));
  if (strips.length) strips[0][0].tabIndex = 0;

  function fact(list, name, text, whole) {
    if (text === undefined || text === null || text === "") return;
    list.append(element("dt", "", name));
    const value = element("dd", "", String(text));
    if (whole) value.append(element("p", "small", `cut here: ${whole} characters in all`));
    list.append(value);
  }

  function show(sample) {
    const problem = data.problems[sample.p];
    const list = element("dl", "facts");
    const pictures = problem.pictures ? ` (with ${problem.pictures} picture(s), not shown here)` : "";
    fact(list, "prompt" + pictures, problem.text, problem.text_whole);
    fact(list, "reasoning", sample.reasoning, sample.reasoning_whole);
    fact(list, "answer", sample.error ? "" : sample.text || "(empty)", sample.text_whole);
    fact(list, "error", sample.error);
    if (!sample.error) fact(list, "extraction", sample.by ? `${sample.extracted || "(nothing)"}  (found by: ${sample.by}${sample.judge ? `; compared by ${sample.judge}` : ""})` : "nothing could be extracted");
    fact(list, "gold", problem.gold);
    fact(list, "AISBench reads", sample.client);
    const numbers = [`first byte after ${sample.first_s} s, whole after ${sample.seconds} s`];
    if (sample.tokens !== null) numbers.push(`${sample.tokens} tokens`);
    if (sample.finish) numbers.push(`finish reason ${sample.finish}`);
    if (!sample.error) fact(list, "stream", numbers.join(", "));
    fact(list, "also", sample.notes.join("\n"));
    fact(list, "full record", `${data.journal}, the line with "order":${sample.order}; the problem is line ${sample.p + 1} of ${data.bank}`);
    panel.replaceChildren(element("h3", "", `${problem.id}, sample ${sample.r + 1} of ${data.repeats}: ${data.outcomes[sample.o]}`), list);
    panel.hidden = false;
  }

  let current = null;
  function choose(cell) {
    if (current) { current.tabIndex = -1; current.setAttribute("aria-pressed", "false"); }
    else if (strips.length) strips[0][0].tabIndex = -1;
    current = cell;
    cell.tabIndex = 0;
    cell.setAttribute("aria-pressed", "true");
    show(cell.sample);
  }

  grid.addEventListener("click", (event) => {
    const cell = event.target.closest("button.cell");
    if (!cell) return;
    choose(cell);
    panel.scrollIntoView({ block: "nearest" });
  });

  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  grid.addEventListener("keydown", (event) => {
    const step = steps[event.key];
    const cell = event.target.closest("button.cell");
    if (!step || !cell) return;
    event.preventDefault();
    const place = strips.findIndex((cells) => cells.includes(cell));
    const strip = strips[Math.min(Math.max(place + step[0], 0), strips.length - 1)];
    const next = strip[Math.min(Math.max(strips[place].indexOf(cell) + step[1], 0), strip.length - 1)];
    choose(next);
    next.focus();
  });
})();
