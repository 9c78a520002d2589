/**
 * `npm run bench [-- P1 P7 …]`: measures the rows with their peers and limits, checks the gates, writes the documents.
 * `--quick` is for CI: some rows at small sizes in less than five minutes, without documents. `--repeat` puts the
 * figures beside the published ones instead of in their place, for a second run on another machine.
 */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { GENERATOR_CORE, QUICK, moveTo } from './lib.ts';
import type { Row } from './lib.ts';
import { writeDocuments } from './documents.ts';
import { machineText, readMachine } from './machine.ts';
import { compareWithBaseline, keepBaseline, print } from './report.ts';

const folder = import.meta.dirname;
if (!fs.existsSync(path.join(folder, 'node_modules', '.package-lock.json'))) {
  process.stderr.write('installing the peers that the figures are taken beside …\n');
  const done = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: folder,
    stdio: 'inherit',
  });
  if (done.status !== 0) throw new Error(`npm ci in ${folder} ended with ${done.status}`);
}

const ROWS: Readonly<Record<string, () => Promise<Row>>> = {
  P1: async () => (await import('./rows/decode.ts')).p1(),
  P2: async () => (await import('./rows/decode.ts')).p2(),
  P3: async () => (await import('./rows/latency-of-events.ts')).p3(),
  P4: async () => (await import('./rows/latency-of-events.ts')).p4(),
  P5: async () => (await import('./rows/fan-out.ts')).p5(),
  P6: async () => (await import('./rows/wallboard.ts')).p6(),
  P7: async () => (await import('./rows/directory.ts')).p7(),
  P8: async () => (await import('./rows/search.ts')).p8(),
  P9: async () => (await import('./rows/history.ts')).p9(),
  P10: async () => (await import('./rows/history.ts')).p10(),
  P11: async () => (await import('./rows/pause.ts')).p11(),
  P12: async () => (await import('./rows/memory.ts')).p12(),
  P13: async () => (await import('./rows/fan-out.ts')).p13(),
  P14: async () => (await import('./rows/history.ts')).p14(),
  P15: async () => (await import('./rows/resync.ts')).p15(),
  P16: async () => (await import('./rows/resync.ts')).p16(),
  P17: async () => (await import('./rows/resume.ts')).p17(),
  P18: async () => (await import('./rows/webhooks.ts')).p18(),
  P19: async () => (await import('./rows/logins.ts')).p19(),
  P20: async () => (await import('./rows/apply.ts')).p20(),
  P21: async () => (await import('./rows/resume.ts')).p21(),
  P23: async () => (await import('./rows/phonebook.ts')).p23(),
  P24: async () => (await import('./rows/connectors.ts')).p24(),
  P25: async () => (await import('./rows/connectors.ts')).p25(),
  P26: async () => (await import('./rows/connectors.ts')).p26(),
  P27: async () => (await import('./rows/simulator.ts')).p27(),
  P28: async () => (await import('./rows/registrations.ts')).p28(),
  P29: async () => (await import('./rows/guard.ts')).p29(),
  P30: async () => (await import('./rows/provisioning.ts')).p30(),
  P31: async () => (await import('./rows/turn.ts')).p31(),
  P32: async () => (await import('./rows/site-log.ts')).p32(),
  P33: async () => (await import('./rows/web-nodes.ts')).p33(),
  P34: async () => (await import('./rows/failover.ts')).p34(),
  P35: async () => (await import('./rows/catch-up.ts')).p35(),
  P36: async () => (await import('./rows/web-nodes.ts')).p36(),
  C1: async () => (await import('./rows/console.ts')).c1(),
  C2: async () => (await import('./rows/console.ts')).c2(),
  C3: async () => (await import('./rows/console.ts')).c3(),
  LATENCY: async () => (await import('./rows/latency.ts')).latency(),
  START: async () => (await import('./rows/start.ts')).start(),
};
const words = process.argv.slice(2);
const keep = words.includes('--baseline');
const named = words.filter((word) => !word.startsWith('--'));
const QUICK_ROWS = ['P1', 'P2', 'P5', 'P7', 'P12', 'P21'];
const wanted = QUICK && named.length === 0 ? QUICK_ROWS : named;
const unknown = words.filter(
  (word) => !['--baseline', '--quick', '--large', '--repeat'].includes(word) && !Object.hasOwn(ROWS, word),
);
if (unknown.length > 0) {
  process.stderr.write(
    `no row ${unknown.join(', ')}; there are ${Object.keys(ROWS).join(', ')}, --baseline keeps the figures to compare with, --quick measures a little, --large the biggest sizes too, --repeat keeps the published figures and puts these beside them\n`,
  );
  process.exit(2);
}

moveTo(GENERATOR_CORE, process.pid);
const machine = readMachine();
process.stdout.write(`${machineText(machine)}\n`);
const rows: Row[] = [];
let failed = false;
for (const [id, measure] of Object.entries(ROWS)) {
  if (wanted.length > 0 && !wanted.includes(id)) continue;
  const began = performance.now();
  try {
    const row = await measure();
    rows.push(row);
    print(row, (performance.now() - began) / 1000);
  } catch (error) {
    failed = true;
    process.stderr.write(
      `${id} could not be measured: ${error instanceof Error ? error.stack : String(error)}\n`,
    );
  }
}
const worse = compareWithBaseline(rows);
for (const line of worse) process.stdout.write(`worse than the baseline: ${line}\n`);
if (keep) keepBaseline(rows);
if (!QUICK) writeDocuments(rows, machine, words.includes('--repeat'));
// The gates are not made for the small sizes of a quick run; it only compares figures with the baseline.
const broken = !QUICK && rows.some((row) => row.gates.some(({ verdict }) => verdict === 'broken'));
process.exit(failed || broken || worse.length > 0 ? 1 : 0);
