// Draws reports from the browser's client in node: node draw.mjs CLIENT.js, a job as JSON on standard input.
// The job has a plan's JSON text, the name of an arm or null, names of public columns, and a column of answers for each
// feature. The bytes of all reports go to standard output, one report after another. Of kept answers, each is of a new
// device with its secret, which makes so many reports one after another: first all of the first ones, and so on.

const client = await import(process.argv[2]);
let text = "";
for await (const part of process.stdin.setEncoding("utf8")) text += part;
const { plan: planText, arm, open, answers, times } = JSON.parse(text);
const plan = await client.read(planText);
const options = { expect: plan.fingerprint, atMost: Infinity, public: open, arm };
const names = Object.keys(answers);
const count = answers[names[0]].length;
const bytes = new Uint8Array(times * count * plan.length);
for (let at = 0; at < count; at++) {
  const record = Object.fromEntries(names.map((name) => [name, answers[name][at]]));
  const secret = plan.kept ? crypto.getRandomValues(new Uint8Array(32)) : undefined;
  for (let time = 0; time < times; time++) {
    const named = secret && arm !== null; // also if the secret gives another arm, which `report` refuses
    const sent = named
      ? client.again(await client.derived(secret, record, plan, arm), plan)
      : client.report(record, plan, { ...options, secret });
    bytes.set(await sent, (time * count + at) * plan.length);
  }
}
process.stdout.write(bytes);
