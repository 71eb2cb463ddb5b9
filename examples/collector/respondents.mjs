// Made-up respondents who answer a survey by the browser's client: node respondents.mjs CLIENT.js URL COUNT
// Each draws an arm, is asked its questions alone, and puts a report with an id of its own. Prints how many were stored.

const [clientFile, url, count] = process.argv.slice(2);
const { drawArm, questions, read, report } = await import(clientFile);
const AT_ONCE = 20; // So many respondents are sending at a time.
const TRIES = 10; // A report is sent at most so often.

const plan = await read(await (await fetch(`${url}/plan.json`)).text());
const chance = (share) => Math.random() < share; // made-up people need no better randomness; their reports do

/** A made-up person: three in ten smoke, and of these more drink every day. */
function person() {
  const smoker = chance(0.3);
  const daily = chance(smoker ? 0.4 : 0.1);
  return { smoker, alcohol: daily ? "every day" : chance(0.6) ? "now and then" : "never", age: chance(0.5) ? "18-44" : "45+", debts: chance(0.2) };
}

async function put(id, body) {
  const headers = { "deniable-plan": plan.fingerprint };
  for (let tried = 0; tried < TRIES; tried++) {
    const answer = await fetch(`${url}/reports/${id}`, { method: "PUT", body, headers });
    if (answer.status !== 503) return answer.status;
    await new Promise((wake) => setTimeout(wake, 1000 * Number(answer.headers.get("retry-after")) * (1 + Math.random())));
  }
  return 503;
}

async function respond() {
  const arm = await drawArm(plan);
  const answers = person();
  const record = Object.fromEntries((await questions(plan, arm)).map(({ name }) => [name, answers[name]]));
  const bytes = await report(record, plan, { expect: plan.fingerprint, atMost: 2.5, arm });
  return put(Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("hex"), bytes);
}

let left = Number(count);
let stored = 0;
const work = async () => {
  while (left-- > 0) if ((await respond()) === 201) stored++;
};
await Promise.all(Array.from({ length: AT_ONCE }, work));
console.log(stored);
