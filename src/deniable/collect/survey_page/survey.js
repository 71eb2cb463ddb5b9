/* The survey page: promises, then the questions of one arm, then what leaves the device, then a receipt.

   The arm is drawn before any question is shown, and kept, so that opening the page again draws no other. A report is
   made once and kept; from then on this browser sends these bytes and no others, for this plan and this invitation. Who
   made one by another invitation is told that epsilon adds up. Answers are never kept or sent. The link may have, after
   #: invitation=..., plan=... (the fingerprint that the plan must have), epsilon=... (the most that was agreed to),
   key=... (which must have signed the plan), public=... (the columns that may be sent as they are), arm=... for plans
   whose arms are assigned, and wave=... for plans that keep answers, any word that is new each time people are asked:
   who comes back in another wave is asked nothing, and sends what was kept. A link with anything else is refused. What
   stands after # is not sent when a page is asked for. */

import { DeniableError, Keeper, drawArm, questions, read, report } from "./deniable.min.js";
import { ceiling, notAgreed, unreadable } from "./agreed.js";
import { element } from "./element.js";
import { answerText, form, title } from "./form.js";
import { countOthers, keep } from "./kept.js";
import { meaning } from "./meaning.js";
import { promise } from "./promise.js";
import { LANGUAGES, firstLanguage, wordsOf } from "./words.js";

const TRIES = 5; // A report is sent so often before the respondent is asked to try later.
const WAIT = 2; // Seconds between two tries, if the collector does not say how long.
const LONGEST_WAIT = 300; // It waits so many seconds at most before it adds a random time, whatever the collector says.
const MOST_NAMED = 20; // So many answers that a field names are listed.

const NO_WORDS = "The survey cannot be loaded. Please try again later."; // for want of a file of words

const link = new URLSearchParams(location.hash.slice(1));
const invitation = link.get("invitation") ?? "";
const wave = link.get("wave") ?? "";
const keeper = new Keeper((change) => keep("kept answers", change), { ceiling: Infinity }); // the promises say what it costs
let plan, key, kept; // the plan that was read, and what this browser keeps of it
let others; // how many reports of the plan this browser made by other links
let lines, features; // what the client promises, and the questions of the arm
let say, promised; // the words
let view; // the function that shows what is shown now

/** An error that is said in words of the page. */
class Said extends Error {
  constructor(word, values) {
    super(word);
    this.values = values;
  }
}

// -- the way through the page ------------------------------------------------------------------------------------------

async function start() {
  await speak(firstLanguage());
  const wrong = unreadable(location);
  if (wrong) throw new Said(...wrong);
  plan = await getPlan(link.get("plan"));
  key = `${plan.fingerprint} ${invitation}${wave && ` ${wave}`}`;
  const given = plan.assigned ? link.get("arm") : await drawArm(plan);
  const assigned = plan.assigned ? given : undefined;
  const keeps = plan.kept && plan.names.includes(given);
  const arm = keeps ? await remembered(keeper.arm(plan, assigned)) : given;
  kept = await remember((found) => found ?? (plan.names.includes(arm) ? { arm } : undefined));
  if (!kept) throw new Said("failed_arm");
  others = await remembered(countOthers(`${plan.fingerprint} `, key));
  lines = (await promise(plan)).split("\n");
  features = await questions(plan, kept.arm);
  if (!kept.report && plan.kept && (await remembered(keeper.has(plan)))) return make({}); // nothing is asked again
  if (!kept.report) return show(begin);
  return kept.stored ? show(receipt) : kept.sent ? send() : show(review);
}

async function getPlan(pinned) {
  const answer = await fetch(pinned === null ? "plan.json" : `plans/${encodeURIComponent(pinned)}.json`).catch(() => null);
  if (!answer?.ok) throw new Said(answer?.status === 404 ? "failed_closed" : "failed_load");
  const found = await read(await answer.text());
  if (pinned !== null && found.fingerprint !== pinned) throw new Said("failed_pin");
  const wrong = await notAgreed(found, link);
  if (wrong) throw new Said(...wrong);
  return found;
}

function remember(change) {
  return remembered(keep(key, change));
}

function remembered(storing) {
  return storing.catch((error) => {
    throw error instanceof DeniableError ? error : new Said("failed_keep");
  });
}

/** Make the report, once: of two tabs that do so at the same time, the first has its report kept. */
async function make(record) {
  const agreed = { expect: plan.fingerprint, atMost: ceiling(link), public: plan.public, arm: kept.arm }; // the link and the promises said so
  const bytes = await (plan.kept ? keeper.report(record, plan, agreed) : report(record, plan, agreed));
  const id = hex(crypto.getRandomValues(new Uint8Array(16)));
  kept = await remember((found) => (found?.report ? found : { arm: agreed.arm, id, report: bytes }));
  show(review);
}

async function send() {
  kept = await remember((found) => ({ ...found, sent: true }));
  for (let tried = 1; ; tried++) {
    show(sending);
    const answer = await fetch(`reports/${kept.id}`, { method: "PUT", body: kept.report, headers: headers() }).catch(() => null);
    if (answer?.ok) break;
    if (kept.stored) return show(receipt); // it was acknowledged before
    if (answer && ![429, 500, 502, 503, 504].includes(answer.status)) throw refusal(answer.status);
    if (tried === TRIES) throw new Said("failed_reach");
    const asked = Number(answer?.headers.get("retry-after")) || WAIT; // a date is no number
    const seconds = Math.ceil(Math.min(Math.max(asked, 1), LONGEST_WAIT) * (1 + Math.random()));
    show(() => waiting(seconds));
    await new Promise((wake) => setTimeout(wake, 1000 * seconds));
  }
  kept = await remember((found) => ({ ...found, stored: true }));
  others = await remembered(countOthers(`${plan.fingerprint} `, key));
  show(receipt);
}

/** Send the same bytes again to a collector that has lost them. */
async function sendAnew() {
  kept = await remember((found) => ({ ...found, stored: false }));
  return send();
}

function headers() {
  return { "deniable-plan": plan.fingerprint, ...(invitation && { "deniable-invitation": invitation }) };
}

function refusal(status) {
  return [403, 409, 422].includes(status) ? new Said(`failed_${status}`) : new Said("failed_other", { status });
}

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

// -- what is shown -----------------------------------------------------------------------------------------------------

/** Show a view: its heading gets the focus, so that a screen reader begins there. */
function show(next) {
  view = next;
  const [heading, ...rest] = view();
  const head = element("h1", { tabindex: "-1" }, heading);
  document.getElementById("main").replaceChildren(head, ...rest);
  document.title = `${heading} – ${say("survey")}`;
  document.getElementById("languages").hidden = view === ask; // or answers would be lost
  head.focus();
}

/** Do something when a button is pressed, and say in words what goes wrong. */
function button(word, action, more = {}) {
  return element("button", { type: "button", ...more, click: () => attempt(action) }, say(word));
}

const attempt = async (action) => {
  try {
    await action();
  } catch (error) {
    if (say) show(() => failed(error));
    else document.getElementById("main").textContent = NO_WORDS;
  }
};

const paragraph = (word, values) => element("p", {}, say(word, values));
const actions = (...buttons) => element("div", { class: "actions" }, ...buttons);
const hundredths = (share) => (100 * share).toLocaleString(document.documentElement.lang, { maximumFractionDigits: 1 });

function begin() {
  return [
    say("begin_title"),
    paragraph("begin_text"),
    element("ul", { class: "promises" }, ...lines.map((line) => element("li", {}, promised(line)))),
    ...(others && !plan.kept ? [element("p", { class: "wrong", id: "others" }, say("begin_others", added()))] : []),
    paragraph("begin_skip"),
    actions(button("begin", () => show(ask))),
    element("p", { class: "hint" }, element("a", { href: link.has("plan") ? `plans/${plan.fingerprint}.json` : "plan.json" }, say("plan_link"))),
  ];
}

/** How many reports this browser will have made for the plan with this one, and what they give away together. */
function added() {
  const inWords = (epsilon) => (Math.ceil(100 * epsilon) / 100).toLocaleString(document.documentElement.lang);
  return { others, count: others + 1, epsilon: inWords(plan.epsilon), sum: inWords((others + 1) * plan.epsilon) };
}

function ask() {
  return [say("questions_title"), paragraph("questions_text"), form(features, say, (record) => attempt(() => make(record)))];
}

function review() {
  return [
    say("review_title"),
    paragraph("review_text", { count: kept.report.length }),
    ...explained(),
    paragraph("fixed"),
    actions(button("send", send)),
  ];
}

function sending() {
  return [say("sending_title"), element("p", { role: "status" }, say("sending"))];
}

function waiting(seconds) {
  return [say("sending_title"), element("p", { role: "status" }, say("waiting", { seconds }))];
}

function receipt() {
  const found = element("div", { role: "status" });
  const check = async () => {
    const answer = await fetch(`reports/${kept.id}`, { method: "HEAD" }).catch(() => null);
    const word = { 204: "check_yes", 404: "check_no" }[answer?.status] ?? "check_failed";
    found.replaceChildren(say(word), ...(word === "check_no" ? [actions(button("send", sendAnew))] : []));
  };
  return [
    say("receipt_title"),
    paragraph("receipt_text"),
    element("p", { class: "bytes", id: "receipt" }, kept.id),
    actions(button("check", check, { class: "second" })),
    found,
    paragraph(plan.kept ? "receipt_kept" : others ? "receipt_others" : "receipt_only", added()),
    paragraph("receipt_again"),
    element("details", {}, element("summary", {}, say("review_title")), ...explained()),
  ];
}

function failed(error) {
  const ours = error instanceof Said;
  const text = ours ? say(error.message, error.values) : say("failed_plan", { reason: error instanceof DeniableError ? error.message : error.name });
  const again = kept?.report ? () => (kept.sent ? send() : show(review)) : () => location.reload();
  return [say("failed_title"), element("p", { role: "alert", class: "wrong" }, text), actions(button("try_again", again))];
}

/** The bytes of the report, and what each of them says. */
function explained() {
  const { arm, armBits, fields } = meaning(plan, kept.report);
  const rows = fields.flatMap((field) => [
    element("dt", { dir: "auto" }, field.features.map(title).join(" · ")),
    element("dd", { class: "hint" }, place(field.from, field.width)),
    element("dd", { dir: "auto" }, named(field)),
    element("dd", {}, field.public ? say("as_it_is") : say("how_often", { own: hundredths(field.own), other: hundredths(field.other) })),
  ]);
  const armRows = armBits
    ? [element("dt", {}, say("arm_field")), element("dd", { class: "hint" }, place(0, armBits)), element("dd", { dir: "auto" }, say(plan.assigned ? "arm_says_assigned" : "arm_says", { arm }))]
    : [];
  const besides = [say("id_says", { id: kept.id }), say("plan_says", { fingerprint: plan.fingerprint }), invitation && say("invitation_says"), say("network_says")];
  return [
    element("p", { class: "bytes", id: "bytes", role: "img", "aria-label": `${say("bytes")}: ${hex(kept.report)}` }, hex(kept.report).match(/../g).join(" ")),
    element("h2", {}, say("fields")),
    element("dl", { id: "fields" }, ...armRows, ...rows),
    element("h2", {}, say("besides")),
    element("ul", {}, ...besides.filter(Boolean).map((text) => element("li", {}, text))),
  ];
}

function place(from, width) {
  return width === 1 ? say("bit", { first: from }) : say("bits", { first: from, last: from + width - 1 });
}

function named(field) {
  const texts = field.named.map((answers) => answers.map((answer, at) => answerText(field.features[at], answer, say)).join(" · "));
  if (!texts.length) return say("names_none");
  const more = texts.length - MOST_NAMED;
  return say("names", { named: [...texts.slice(0, MOST_NAMED), ...(more > 0 ? [say("more", { count: more })] : [])].join("; ") });
}

// -- languages ---------------------------------------------------------------------------------------------------------

async function speak(language) {
  ({ say, promised } = await wordsOf(language));
  document.documentElement.lang = language;
  const choose = (other) => element("button", { type: "button", lang: other, "aria-pressed": `${other === language}`, click: () => attempt(() => speak(other)) }, LANGUAGES[other]);
  const languages = document.getElementById("languages");
  languages.replaceChildren(...Object.keys(LANGUAGES).map(choose));
  if (view) show(view);
}

addEventListener("hashchange", () => location.reload()); // another link, and so perhaps another invitation
attempt(start);
