// Draws reports from the browser's client in node: node draw.mjs CLIENT.js, a job as JSON on standard input.
// The job has a plan's JSON text, the name of an arm or null, names of public columns, and a column of answers for each
// feature. The bytes of all reports go to standard output, one report after another. Of kept answers, each is of a new
// device with its secret.

const client = await import(process.argv[2]);
let text = "";
for await (const part of process.stdin.setEncoding("utf8")) text += part;
const { plan: planText, arm, open, answers } = JSON.parse(text);
const plan = await client.read(planText);
const options = { expect: plan.fingerprint, atMost: Infinity, public: open, arm };
const names = Object.keys(answers);
const count = answers[names[0]].length;
const bytes = new Uint8Array(count * plan.length);
for (let at = 0; at < count; at++) {
  const record = Object.fromEntries(names.map((name) => [name, answers[name][at]]));
  const kept = plan.kept && { secret: crypto.getRandomValues(new Uint8Array(32)) };
  bytes.set(await client.report(record, plan, { ...options, ...kept }), at * plan.length);
}
process.stdout.write(bytes);
