// The page reads without this. It adds search, keys, drawings, and folds that open by themselves.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const log = $("log");
  const sessions = JSON.parse($("data").textContent).sessions;
  const anchor = (session, kind, seq) => (session ? `s${session}-` : "") + `${kind}-${seq}`;
  for (const id of ["search", "unfold", "theme", "help", "menu"]) $(id).hidden = false;

  // ---- Going somewhere

  const reveal = (node) => {
    for (let at = node.parentElement; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  };

  const go = (node, options = {}) => {
    if (!node) return;
    reveal(node);
    // What was out of sight has had a guessed height; once more when it is laid out.
    const scroll = () => node.scrollIntoView({ block: options.block || "start", behavior: "instant" });
    scroll();
    requestAnimationFrame(scroll);
    if (options.focus !== false) node.focus({ preventScroll: true });
  };

  // An event that has no entry of its own is found at the entry before it.
  const toHash = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    if (!id) return;
    let node = $(id);
    const [, head, number] = /^((?:s\d+-)?seq-)(\d+)$/.exec(id) || [];
    if (!node && number) {
      for (const entry of all(`[id^="${head}"]`)) {
        if (+entry.id.slice(head.length) > +number) break;
        node = entry;
      }
    }
    if (node) go(node, { focus: node.matches(".e, main") });
  };
  addEventListener("hashchange", toHash);

  // ---- Keys

  const top = () => (parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) || 0) + 8;

  const step = (selector, forward) => {
    const nodes = all(selector, log);
    const here = document.activeElement.closest?.(selector);
    let at = nodes.indexOf(here);
    const inSight = here && here.getBoundingClientRect().bottom > 0 && here.getBoundingClientRect().top < innerHeight;
    if (at < 0 || !inSight) {
      // From where one reads.
      const line = top();
      at = nodes.findIndex((node) => node.getBoundingClientRect().top > line);
      if (at < 0) at = nodes.length;
      at += forward ? -1 : 0;
    }
    const next = nodes[Math.min(Math.max(at + (forward ? 1 : -1), 0), nodes.length - 1)];
    if (next) go(next);
  };

  const folds = (root) => all(".e > details, .e .in details", root);

  const toggle = () => {
    const entry = document.activeElement.closest?.(".e");
    const fold = entry && entry.querySelector("details");
    if (fold) fold.open = !fold.open;
  };

  const toggleAll = () => {
    const open = $("unfold").getAttribute("aria-pressed") !== "true";
    for (const fold of folds(log)) fold.open = open;
    $("unfold").setAttribute("aria-pressed", open);
    $("unfold").textContent = open ? "Fold all" : "Unfold all";
  };

  const keys = {
    j: () => step(".e", true),
    k: () => step(".e", false),
    n: () => step(".turn > h2", true),
    p: () => step(".turn > h2", false),
    o: toggle,
    O: toggleAll,
    t: () => switchTheme(),
    "/": () => $("query").select(),
    "?": () => $("keys").showModal(),
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || $("keys").open) return;
    if (event.target.matches("input, textarea")) return;
    const act = keys[event.key];
    if (act) {
      event.preventDefault();
      act();
    }
  });
  $("unfold").addEventListener("click", toggleAll);
  $("help").addEventListener("click", keys["?"]);

  // ---- Light and dark

  const isDark = () => {
    const chosen = document.documentElement.style.colorScheme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const nameTheme = () => ($("theme").textContent = isDark() ? "Light" : "Dark");
  const switchTheme = () => {
    document.documentElement.style.colorScheme = isDark() ? "light" : "dark";
    nameTheme();
  };
  $("theme").addEventListener("click", switchTheme);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", nameTheme);
  nameTheme();

  // ---- Turns at the side

  const links = new Map(all("#turns li a").map((link) => [link.hash.slice(1), link]));
  let current = null;
  const seen = new IntersectionObserver(
    (turns) => {
      for (const { target, isIntersecting } of turns) {
        if (!isIntersecting) continue;
        current?.removeAttribute("aria-current");
        current = links.get(target.id);
        current?.setAttribute("aria-current", "true");
        const list = $("turns");
        if (current && list.offsetHeight) {
          const [a, b] = [current.getBoundingClientRect(), list.getBoundingClientRect()];
          if (a.top < b.top || a.bottom > b.bottom) list.scrollTop += a.top - b.top - b.height / 3;
        }
      }
    },
    { rootMargin: "-20% 0px -75% 0px" },
  );
  for (const turn of all(".turn")) seen.observe(turn);

  const openMenu = (open) => {
    $("turns").classList.toggle("open", open);
    $("menu").setAttribute("aria-expanded", open);
  };
  $("menu").addEventListener("click", () => openMenu(!$("turns").classList.contains("open")));
  $("turns").addEventListener("click", (event) => event.target.closest("a") && openMenu(false));

  // ---- Search

  const LIMIT = 100000;
  const canMark = typeof Highlight === "function" && CSS.highlights;
  const texts = all("#log .t, #log .detail");
  let hits = []; // [index of the text, start, end]
  let at = -1;
  let timer = 0;

  const rangeOf = ([text, start, end]) => {
    const range = document.createRange();
    const walker = document.createTreeWalker(texts[text], NodeFilter.SHOW_TEXT);
    let from = 0;
    let begun = false;
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const to = from + node.length;
      if (!begun && start < to) {
        range.setStart(node, start - from);
        begun = true;
      }
      if (begun && end <= to) {
        range.setEnd(node, end - from);
        return range;
      }
      from = to;
    }
    return null;
  };

  const tell = () => {
    const count = hits.length >= LIMIT ? `${LIMIT}+` : hits.length;
    $("hits").textContent = !$("query").value ? "" : hits.length ? `${at + 1} of ${count}` : "no hit";
  };

  const mark = (ranges, range) => {
    if (!canMark) return;
    CSS.highlights.set("hits", new Highlight(...ranges));
    CSS.highlights.set("hit", range ? new Highlight(range) : new Highlight());
  };

  const show = (next) => {
    if (!hits.length) {
      at = -1;
      mark([], null);
      return tell();
    }
    at = (next + hits.length) % hits.length;
    const node = texts[hits[at][0]];
    reveal(node);
    const range = rangeOf(hits[at]);
    const near = [];
    for (let i = Math.max(0, at - 60); i < Math.min(hits.length, at + 120); i++) near.push(rangeOf(hits[i]));
    mark(near.filter(Boolean), range);
    const scroll = () => {
      node.scrollIntoView({ block: "center", behavior: "instant" });
      const box = range?.getBoundingClientRect();
      if (box && (box.height || box.width)) scrollBy({ top: box.top - innerHeight / 2, behavior: "instant" });
    };
    scroll();
    requestAnimationFrame(scroll);
    if (!canMark && range) getSelection().setBaseAndExtent(range.startContainer, range.startOffset, range.endContainer, range.endOffset);
    tell();
  };

  const search = () => {
    const query = $("query").value;
    hits = [];
    if (query) {
      const pattern = new RegExp(query.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&"), "gi");
      scan: for (let i = 0; i < texts.length; i++) {
        for (const hit of texts[i].textContent.matchAll(pattern)) {
          hits.push([i, hit.index, hit.index + hit[0].length]);
          if (hits.length >= LIMIT) break scan;
        }
      }
    }
    // The first one at or below where one reads.
    const line = top();
    let first = hits.findIndex(([text]) => {
      const shown = texts[text].closest(".e, .turn, .session");
      return shown && shown.getBoundingClientRect().bottom > line;
    });
    show(Math.max(first, 0));
  };

  const find = () => {
    clearTimeout(timer);
    timer = 0;
    search();
  };
  $("query").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(find, 150);
  });
  $("search").addEventListener("submit", (event) => {
    event.preventDefault();
    if (timer) find();
    else show(at + 1);
  });
  $("previous").addEventListener("click", () => show(at - 1));
  $("query").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.shiftKey) {
      event.preventDefault();
      show(at - 1);
    } else if (event.key === "Escape") {
      $("query").value = "";
      find();
      log.focus({ preventScroll: true });
    }
  });

  // ---- Drawings

  const svg = (name, attributes = {}, ...children) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  };
  const titled = (text) => svg("title", {}, document.createTextNode(text));
  const link = (id, title, ...children) => {
    const node = svg("a", { href: `#${id}`, "aria-label": title }, titled(title), ...children);
    node.addEventListener("click", () => setTimeout(toHash));
    return node;
  };
  const span = (ms) => {
    if (ms < 100) return `${ms} ms`;
    if (ms < 60000) return `${(ms / 1000).toFixed(1)} s`;
    const minutes = Math.floor(ms / 60000);
    return minutes < 60 ? `${minutes} min ${Math.floor(ms / 1000) % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  };
  const short = (n) => (n < 1000 ? `${n}` : n < 1e6 ? `${(n / 1e3).toFixed(n < 1e5 ? 1 : 0)}k` : `${(n / 1e6).toFixed(1)}M`);
  const number = (n) => n.toLocaleString("en");
  const last = (turn) => {
    let end = turn.end ? turn.end.time : turn.time;
    for (const step of turn.steps) {
      end = Math.max(end, step.endTime ?? step.time);
      for (const part of [...step.requests, ...step.tools]) end = Math.max(end, part.end ?? part.start);
    }
    return end;
  };

  // Turns side by side, each to scale; the time between them is left out.
  const drawTime = (figure, session, index) => {
    const turns = session.turns;
    const lengths = turns.map((turn) => Math.max(last(turn) - turn.time, 1));
    const total = lengths.reduce((a, b) => a + b, 0);
    const gap = turns.length > 60 ? 2 : 4;
    const least = turns.length > 60 ? 4 : 14;
    const width = Math.max(figure.clientWidth - 28, turns.length * (least + gap));
    const scale = Math.max(width - turns.length * (least + gap), 0) / total;
    const drawing = svg("svg", { width, height: 58, role: "group", "aria-label": "Turns over time" });
    let x = 0;
    turns.forEach((turn, i) => {
      const wide = least + lengths[i] * scale;
      const place = (time) => x + ((time - turn.time) / lengths[i]) * wide;
      const title = `Turn ${turn.turn}: ${span(lengths[i])}${turn.about ? ` · ${turn.about}` : ""}`;
      const whole = link(anchor(index, "turn", turn.seq), title, svg("rect", { class: "ground", x, y: 0, width: wide, height: 44, rx: 3 }));
      if (turn.end && turn.end.mood === "bad") whole.append(svg("rect", { class: "failed", x, y: 42, width: wide, height: 2 }));
      drawing.append(whole);
      const bar = (part, kind, y, words) => {
        const from = place(part.start);
        const to = place(part.end ?? part.start);
        return link(anchor(index, "seq", part.seq), words, svg("rect", { class: kind, x: from, y, width: Math.max(to - from, 1), height: 14, rx: 1 }));
      };
      for (const step of turn.steps) {
        for (const request of step.requests) {
          const words = `Request: ${span(request.end - request.start)}${request.answered ? "" : ", not answered"}`;
          const drawn = bar(request, request.answered ? "model" : "failed", 5, words);
          if (request.first && request.answered) {
            const [from, to] = [place(request.start), place(request.first)];
            drawn.append(svg("rect", { class: "ground", x: from, y: 5, width: Math.max(to - from, 0), height: 14, opacity: 0.55 }));
          }
          drawn.setAttribute("tabindex", "-1");
          drawing.append(drawn);
        }
        for (const tool of step.tools) {
          const took = tool.end === null ? "no result" : span(tool.end - tool.start);
          const drawn = bar(tool, tool.mood === "bad" ? "failed" : "tools", 23, `${tool.name} ${tool.about}: ${took}`);
          drawn.setAttribute("tabindex", "-1");
          drawing.append(drawn);
        }
      }
      if (wide > 12) drawing.append(svg("text", { x: x + 2, y: 55 }, document.createTextNode(turn.turn)));
      x += wide + gap;
    });
    put(figure, drawing);
  };

  // What each request sent and got; of many requests, each turn.
  const drawTokens = (figure, session, index) => {
    const add = (a, b) => ({ input: a.input + b.input, cached: a.cached + b.cached, written: a.written + b.written, output: a.output + b.output });
    const of = (turn) => turn.steps.flatMap((step) => step.requests.filter((request) => request.usage).map((request) => [turn, step, request]));
    let bars = session.turns.flatMap(of).map(([turn, step, request]) => ({
      id: anchor(index, "seq", request.seq),
      name: `Turn ${turn.turn}, step ${step.step}`,
      usage: request.usage,
    }));
    if (bars.length > 240) {
      bars = session.turns
        .filter((turn) => of(turn).length)
        .map((turn) => ({
          id: anchor(index, "turn", turn.seq),
          name: `Turn ${turn.turn}`,
          usage: of(turn).map(([, , request]) => request.usage).reduce(add),
        }));
    }
    if (!bars.length) return;
    const sent = (usage) => usage.input + usage.cached + usage.written;
    const most = Math.max(...bars.map((bar) => sent(bar.usage)), 1);
    const mostOut = Math.max(...bars.map((bar) => bar.usage.output), 1);
    const [high, low, left] = [72, 26, 54];
    const room = Math.max(figure.clientWidth - 28, 200) - left;
    const each = Math.min(Math.max(room / bars.length, 3), 36);
    const drawing = svg("svg", { width: Math.max(left + each * bars.length, left + room), height: high + low + 4, role: "group", "aria-label": "Tokens of each request" });
    bars.forEach(({ id, name, usage }, i) => {
      const x = left + i * each;
      const wide = Math.max(each - (each > 8 ? 3 : 1), 1);
      const title = `${name}: ${number(sent(usage))} in, of them ${number(usage.cached)} from the cache; ${number(usage.output)} out`;
      const bar = link(id, title, svg("rect", { class: "ground", x, y: 0, width: wide, height: high + low + 3 }));
      let y = high;
      for (const part of ["cached", "written", "input"]) {
        const height = (usage[part] / most) * (high - 4);
        y -= height;
        if (height > 0) bar.append(svg("rect", { class: part, x, y, width: wide, height }));
      }
      bar.append(svg("rect", { class: "output", x, y: high + 2, width: wide, height: Math.max((usage.output / mostOut) * low, usage.output ? 1 : 0) }));
      drawing.append(bar);
    });
    const label = (y, text) => svg("text", { x: left - 6, y, "text-anchor": "end" }, document.createTextNode(text));
    drawing.append(label(12, `${short(most)} in`), label(high + low, `${short(mostOut)} out`));
    put(figure, drawing);
  };

  const put = (figure, drawing) => {
    const box = document.createElement("div");
    box.className = "scroll";
    box.append(drawing);
    figure.querySelector(".scroll")?.remove();
    figure.append(box);
  };

  const draw = (figure) => {
    const index = +figure.dataset.session;
    const session = sessions[index];
    if (!session.turns.length) return;
    figure.hidden = false;
    (figure.matches(".timeline") ? drawTime : drawTokens)(figure, session, index);
    if (!figure.querySelector("svg")) figure.hidden = true;
  };
  const figures = all("figure[data-session]");
  figures.forEach(draw);
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) figures.forEach(draw);
    width = innerWidth;
  });

  // The steps of a turn, drawn when somebody looks.
  const drawSteps = (fold) => {
    const index = +fold.dataset.session;
    const turn = sessions[index].turns.find((turn) => turn.seq === +fold.dataset.turn);
    if (!turn || fold.querySelector(".gantt")) return;
    const [start, length] = [turn.time, Math.max(last(turn) - turn.time, 1)];
    const grid = document.createElement("div");
    grid.className = "gantt";
    const row = (seq, name, from, to, kind, first) => {
      const a = document.createElement("a");
      a.href = `#${anchor(index, "seq", seq)}`;
      a.textContent = a.title = name;
      const share = (time) => ((time - start) / length) * 100;
      const bar = svg("svg", { viewBox: "0 0 100 1", preserveAspectRatio: "none", "aria-hidden": "true" });
      const rect = (kind, from, to) => svg("rect", { class: kind, x: share(from), y: 0, width: Math.max(share(to) - share(from), 0.4), height: 1 });
      if (first) bar.append(rect("wait", from, first), rect(kind, first, to));
      else bar.append(rect(kind, from, to));
      const took = document.createElement("span");
      took.textContent = span(to - from);
      grid.append(a, bar, took);
    };
    for (const step of turn.steps) {
      step.requests.forEach((request, i) => {
        const name = `step ${step.step}: request${step.requests.length > 1 ? ` ${i + 1}` : ""}${request.answered ? "" : ", not answered"}`;
        row(request.seq, name, request.start, request.end, request.answered ? "model" : "failed", request.answered && request.first);
      });
      for (const tool of step.tools) row(tool.seq, `${tool.name} ${tool.about}`, tool.start, tool.end ?? last(turn), tool.mood === "bad" ? "failed" : "tools");
    }
    fold.append(grid);
  };
  for (const fold of all("details.steps")) {
    fold.hidden = false;
    fold.addEventListener("toggle", () => fold.open && drawSteps(fold));
  }

  // ---- Paper shows everything

  let closed = [];
  addEventListener("beforeprint", () => {
    closed = folds(log).filter((fold) => !fold.open);
    for (const fold of closed) fold.open = true;
  });
  addEventListener("afterprint", () => {
    for (const fold of closed) fold.open = false;
    closed = [];
  });

  toHash();
})();
