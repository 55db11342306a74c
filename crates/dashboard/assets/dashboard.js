// Live updates, countdowns, dialogs and keys. Every page works without this script.

const page = document;
const dialog = page.getElementById("dialog");
const dialogBody = page.getElementById("dialog-body");
const clockOffset = Number(page.body.dataset.now || Date.now()) - Date.now();
const now = () => Date.now() + clockOffset;

page.documentElement.classList.add("scripted");

// --- Swapping fragments -------------------------------------------------------------------------

// State that belongs to the user and that an update must not change.
const keptAttributes = new Set(["open", "checked", "class"]);

function syncAttributes(from, to) {
  for (const { name } of [...from.attributes]) {
    if (!to.hasAttribute(name) && !keptAttributes.has(name)) from.removeAttribute(name);
  }
  for (const { name, value } of [...to.attributes]) {
    if (name === "open" || name === "checked") continue;
    if (from.getAttribute(name) !== value) from.setAttribute(name, value);
  }
}

// Makes one element equal to another and keeps the nodes that are the same, so that focus, selection and
// scroll positions stay.
function morph(from, to) {
  if (from.nodeType !== to.nodeType || from.nodeName !== to.nodeName || (from.id || "") !== (to.id || "")) {
    from.replaceWith(page.importNode(to, true));
    return;
  }
  if (from.nodeType === Node.TEXT_NODE || from.nodeType === Node.COMMENT_NODE) {
    if (from.data !== to.data) from.data = to.data;
    return;
  }
  // A message is sent once, and stays until the next page.
  if (from.id === "flash" && !to.hasChildNodes()) return;
  if (from.id === "log" || from.matches("form.action-form, [data-form]")) return;
  syncAttributes(from, to);
  if (from.matches("input, textarea, select") && from === page.activeElement) return;
  const known = new Map();
  for (const child of from.children) if (child.id) known.set(child.id, child);
  let place = from.firstChild;
  for (const child of [...to.childNodes]) {
    const match = child.id ? known.get(child.id) : place && !place.id ? place : null;
    if (match) {
      if (match !== place) from.insertBefore(match, place);
      place = match.nextSibling;
      morph(match, child);
    } else {
      from.insertBefore(page.importNode(child, true), place);
    }
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

// --- Live updates -------------------------------------------------------------------------------

let stream = null;
let lastId = "";
let isRefreshing = false;
let isWanted = false;
let lastBeat = Date.now();
let retryTimer = 0;
let retryDelay = 500;
let state = "";

async function refresh() {
  if (isRefreshing) {
    isWanted = true;
    return;
  }
  isRefreshing = true;
  try {
    const response = await fetch(location.href, { headers: { "x-punctual-refresh": "1" } });
    if (response.status === 401) return location.reload();
    if (!response.headers.get("content-type")?.startsWith("text/html")) return;
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
    for (const id of ["main", "status"]) {
      const from = page.getElementById(id);
      const to = fresh.getElementById(id);
      if (from && to) morph(from, to);
    }
    page.title = fresh.title;
    if (page.body.dataset.events !== fresh.body.dataset.events) followOther(fresh.body.dataset.events);
    markConnected();
  } catch {
    markLost();
  } finally {
    isRefreshing = false;
    if (isWanted) {
      isWanted = false;
      setTimeout(refresh, 300);
    }
  }
}

// The page follows another log, or its scope has changed. Its position is not a reason to connect again.
function followOther(events) {
  const what = (text) => {
    const query = new URLSearchParams(text || "");
    query.delete("since");
    return query.toString();
  };
  const isOther = what(page.body.dataset.events) !== what(events);
  if (events) page.body.dataset.events = events;
  if (isOther) connect();
}

function markConnected() {
  lastBeat = Date.now();
  retryDelay = 500;
  const banner = page.getElementById("stale");
  if (banner && !banner.hidden) banner.hidden = true;
}

function markLost() {
  const banner = page.getElementById("stale");
  if (!banner || !banner.hidden) return;
  const time = new Date(lastBeat).toLocaleTimeString();
  banner.textContent = `The connection to the dashboard is lost. This page shows the state of ${time}. Trying again…`;
  banner.hidden = false;
}

function disconnect() {
  clearTimeout(retryTimer);
  stream?.close();
  stream = null;
}

function connect() {
  disconnect();
  const events = page.body.dataset.events;
  if (!events || page.hidden) return;
  const query = new URLSearchParams(events);
  if (lastId) query.set("since", lastId);
  stream = new EventSource(`/events?${query}`);
  const on = (name, handle) =>
    stream.addEventListener(name, (event) => {
      if (event.lastEventId) lastId = event.lastEventId;
      markConnected();
      handle(event.data ? JSON.parse(event.data) : {});
    });
  on("change", refresh);
  on("beat", (beat) => {
    if (state && state !== beat.state) refresh();
    state = beat.state;
  });
  on("log-start", () => setLog(""));
  on("log", ({ text }) => appendLog(text));
  on("log-end", () => refresh());
  stream.addEventListener("open", markConnected);
  stream.addEventListener("error", () => {
    // Connects by itself with a delay of our own, because a browser gives up after some errors.
    disconnect();
    markLost();
    retryTimer = setTimeout(connect, retryDelay);
    retryDelay = Math.min(retryDelay * 2, 5000);
  });
}

page.addEventListener("visibilitychange", () => {
  if (page.hidden) disconnect();
  else if (page.body.dataset.events) connect();
});
addEventListener("pagehide", disconnect);
addEventListener("pageshow", (event) => event.persisted && connect());

// --- The log of a run ---------------------------------------------------------------------------

const LOG_LENGTH_MAX = 1_000_000;

function setLog(text) {
  const log = page.getElementById("log");
  if (log) log.textContent = text;
}

function appendLog(text) {
  const log = page.getElementById("log");
  if (!log) return;
  const follows = page.getElementById("follow")?.checked ?? true;
  log.append(text);
  if (log.textContent.length > LOG_LENGTH_MAX) log.textContent = log.textContent.slice(-LOG_LENGTH_MAX / 2);
  const note = page.getElementById("log-note");
  if (note) note.textContent = "";
  if (follows) log.scrollTop = log.scrollHeight;
}

const firstLog = page.getElementById("log");
if (firstLog) firstLog.scrollTop = firstLog.scrollHeight;

// --- Countdowns and the clock -------------------------------------------------------------------

function duration(seconds) {
  const units = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];
  let rest = Math.max(0, Math.floor(seconds));
  const first = units.findIndex(([length]) => rest >= length);
  if (first < 0) return "0s";
  const parts = [];
  for (const [length, unit] of units.slice(first, first + 2)) {
    const count = Math.floor(rest / length);
    rest -= count * length;
    if (count > 0) parts.push(`${count}${unit}`);
  }
  return parts.join(" ");
}

let clockFormat = null;

function tick() {
  if (page.hidden) return;
  const seconds = now() / 1000;
  let isDue = false;
  for (const element of page.querySelectorAll("[data-until]")) {
    const left = Number(element.dataset.until) - seconds;
    const text = left > 0 ? `in ${duration(Math.ceil(left))}` : "now";
    if (element.textContent !== text) element.textContent = text;
    isDue ||= left <= -1 && left > -2.2;
  }
  for (const element of page.querySelectorAll("[data-since]")) {
    const text = `${duration(seconds - Number(element.dataset.since))} ago`;
    if (element.textContent !== text) element.textContent = text;
  }
  const clock = page.querySelector("[data-clock]");
  if (clock) {
    try {
      clockFormat ??= new Intl.DateTimeFormat("en-GB", { timeZone: clock.dataset.clock, timeStyle: "medium" });
      clock.textContent = clockFormat.format(now());
    } catch {
      clock.removeAttribute("data-clock");
    }
  }
  if (isDue && page.body.dataset.events) refresh();
  if (stream && Date.now() - lastBeat > 25_000) {
    markLost();
    connect();
  }
}

setInterval(tick, 1000);
tick();

// --- Dialogs ------------------------------------------------------------------------------------

function showInDialog(fresh) {
  const form = fresh.querySelector("[data-form]");
  if (!form) return false;
  dialogBody.replaceChildren(page.importNode(form, true));
  if (!dialog.open) dialog.showModal();
  (dialogBody.querySelector("[autofocus]") || dialogBody.querySelector("input:not([type=hidden]), select, button"))?.focus();
  return true;
}

async function openDialog(url, options) {
  try {
    const response = await fetch(url, options);
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
    if (response.redirected && !fresh.querySelector("[data-form]")) {
      location.href = response.url;
    } else if (!showInDialog(fresh)) {
      location.href = url;
    }
  } catch {
    markLost();
  }
}

page.addEventListener("click", (event) => {
  const target = event.target.closest?.("[data-dialog], [data-close]");
  if (target?.matches("[data-close]") && dialog.open) {
    event.preventDefault();
    dialog.close();
  } else if (target?.matches("[data-dialog]") && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    openDialog(target.href);
  }
  for (const menu of page.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

page.addEventListener("submit", (event) => {
  const form = event.target;
  const query = () => new URLSearchParams(new FormData(form, event.submitter));
  if (form.matches("[data-dialog-form]") || (dialog.contains(form) && form.method === "get")) {
    event.preventDefault();
    openDialog(`${form.getAttribute("action")}?${query()}`);
  } else if (dialog.contains(form)) {
    // A form with an error comes back and is shown again; success leads to another page.
    event.preventDefault();
    for (const button of form.querySelectorAll("button")) button.disabled = true;
    post(form, query());
  }
});

async function post(form, body) {
  try {
    const response = await fetch(form.getAttribute("action"), { method: "POST", body });
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
    if (response.ok || !showInDialog(fresh)) showPage(response, fresh);
  } catch {
    markLost();
    for (const button of form.querySelectorAll("button")) button.disabled = false;
  }
}

// The response of an action is the page that follows, with its message.
function showPage(response, fresh) {
  dialog.close();
  const main = fresh.getElementById("main");
  if (!main) return location.reload();
  page.getElementById("main").replaceWith(page.importNode(main, true));
  page.title = fresh.title;
  if (response.url && response.url !== location.href) history.pushState({}, "", response.url);
  page.body.dataset.events = fresh.body.dataset.events || "";
  lastId = "";
  connect();
  scrollTo({ top: 0 });
}

addEventListener("popstate", () => location.reload());

page.addEventListener("change", (event) => {
  if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
});

// --- Keys ---------------------------------------------------------------------------------------

const keys = [
  ["/", "search"], ["g f", "fleet"], ["g t", "timeline"], ["g l", "load"], ["g r", "ledger"], ["g p", "plan"],
  ["j, k", "next and previous row"], ["Enter", "open the row"], ["x", "select the row"],
  ["r", "run now"], ["b", "backfill"], ["s", "suspend or resume"], ["e", "edit"], ["← →", "previous and next slot"], ["Esc", "close"],
];
const places = { f: "/", t: "/timeline", l: "/load", r: "/ledger", p: "/plan" };
let isGoing = false;

function showKeys() {
  const title = page.createElement("h1");
  title.id = "dialog-title";
  title.textContent = "Keys";
  const list = page.createElement("dl");
  list.className = "keys";
  for (const [key, text] of keys) {
    const term = list.appendChild(page.createElement("dt"));
    term.appendChild(page.createElement("kbd")).textContent = key;
    list.appendChild(page.createElement("dd")).textContent = text;
  }
  dialogBody.replaceChildren(title, list);
  dialog.showModal();
}

function moveRow(step) {
  const rows = [...page.querySelectorAll("tr[data-row]")];
  if (rows.length === 0) return;
  const current = rows.findIndex((row) => row.classList.contains("current"));
  const next = rows[Math.min(rows.length - 1, Math.max(0, current + step))];
  rows[current]?.classList.remove("current");
  next.classList.add("current");
  next.scrollIntoView({ block: "nearest" });
  next.querySelector("a")?.focus({ preventScroll: true });
}

page.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
  if (event.target.matches("input:not([type=checkbox]), textarea, select")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const key = event.key;
  const row = page.querySelector("tr.current");
  if (isGoing) {
    isGoing = false;
    if (places[key]) location.href = places[key];
    return;
  }
  if (key === "/") page.getElementById("search")?.focus();
  else if (key === "?") showKeys();
  else if (key === "g") isGoing = true;
  else if (key === "j") moveRow(1);
  else if (key === "k") moveRow(-1);
  else if (key === "x" && row) row.querySelector("input[type=checkbox]")?.click();
  else {
    const inRow = row && { r: "/trigger", s: "/suspend" }[key];
    const target = inRow
      ? row.querySelector(`a[href$="${inRow}"]`) || row.querySelector(key === "s" ? 'a[href$="/resume"]' : "none")
      : page.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (!target) return;
    target.click();
  }
  event.preventDefault();
});

connect();
