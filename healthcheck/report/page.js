
"use strict";
(() => {
  // A page that was opened as a file may have no clipboard: then there is no button.
  for (const button of navigator.clipboard ? document.querySelectorAll(".copy") : []) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.previousElementSibling.textContent);
      button.textContent = button.dataset.done;
    });
  }

  const source = document.getElementById("data");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const grid = document.getElementById("grid");
  const panel = document.getElementById("sample");
  const right = new Set(["right", "loose"]);

  // A message in the language of the page, with its values.
  function say(message, ...values) {
    let at = 0;
    return (data.words[message] || message).replace(/\{(\d*)\}/g, (_, place) => values[place === "" ? at++ : place]);
  }

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

  let strips = [];
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
        cell.setAttribute("aria-label", say("{}, sample {}: {}", data.problems[place].id, sample.r + 1, data.outcomes[sample.o]));
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
  if (data.left_out) grid.append(element("p", "small", say("{} more problems are in {} and {}.", data.left_out, data.bank, data.journal)));
  if (strips.length) strips[0][0].tabIndex = 0;

  function fact(list, name, text, whole) {
    if (text === undefined || text === null || text === "") return;
    list.append(element("dt", "", name));
    const value = element("dd", "", String(text));
    if (whole) value.append(element("p", "small", say("cut here: {} characters in all", whole)));
    list.append(value);
  }

  function extraction(sample) {
    if (!sample.by) return say("nothing could be extracted");
    const found = say("{}  (found by: {})", sample.extracted || say("(nothing)"), sample.by);
    return sample.judge ? say("{}; compared by {}", found, sample.judge) : found;
  }

  function show(sample) {
    const problem = data.problems[sample.p];
    const list = element("dl", "facts");
    const pictures = problem.pictures ? say(" (with {} picture(s), not shown here)", problem.pictures) : "";
    fact(list, say("prompt") + pictures, problem.text, problem.text_whole);
    fact(list, say("reasoning"), sample.reasoning, sample.reasoning_whole);
    fact(list, say("answer"), sample.error ? "" : sample.text || say("(empty)"), sample.text_whole);
    fact(list, say("error"), sample.error);
    if (!sample.error) fact(list, say("extraction"), extraction(sample));
    fact(list, say("gold"), problem.gold);
    fact(list, say("AISBench reads"), sample.client);
    const numbers = [say("first byte after {} s, whole after {} s", sample.first_s, sample.seconds)];
    if (sample.tokens !== null) numbers.push(say("{} tokens", sample.tokens));
    if (sample.finish) numbers.push(say("finish reason {}", sample.finish));
    if (!sample.error) fact(list, say("stream"), numbers.join(", "));
    fact(list, say("also"), sample.notes.join("\n"));
    fact(list, say("full record"), say("{}, the line with {}; the problem is line {} of {}", data.journal, `"order":${sample.order}`, sample.p + 1, data.bank));
    panel.replaceChildren(element("h3", "", say("{}, sample {} of {}: {}", problem.id, sample.r + 1, data.repeats, data.outcomes[sample.o])), list);
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

  // What is hidden takes no part in moving with the arrow keys.
  const every = strips;
  const only = document.getElementById("wrong-only");
  only.addEventListener("click", () => {
    const pressed = only.getAttribute("aria-pressed") !== "true";
    only.setAttribute("aria-pressed", String(pressed));
    for (const cells of every) {
      for (const cell of cells) cell.hidden = pressed && right.has(cell.sample.o);
      cells[0].parentElement.hidden = cells.every((cell) => cell.hidden);
    }
    strips = every.map((cells) => cells.filter((cell) => !cell.hidden)).filter((cells) => cells.length);
    if (current && current.hidden) {
      current.tabIndex = -1;
      current.setAttribute("aria-pressed", "false");
      current = null;
      panel.hidden = true;
    }
    for (const cells of every) for (const cell of cells) cell.tabIndex = -1;
    if (current) current.tabIndex = 0;
    else if (strips.length) strips[0][0].tabIndex = 0;
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
