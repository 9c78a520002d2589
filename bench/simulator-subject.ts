/**
 * Calls of a simulator: `simulator-subject.ts <calls>`; prints the seconds they took and those of the simulator's
 * clock.
 */
import { createSimulator } from '../server/src/simulator/simulator.ts';

const calls = Number(process.argv[2]);
await using simulator = await createSimulator();
const from = simulator.now().getTime();
const began = performance.now();
for (let i = 0; i < calls; i += 1) await simulator.play('inbound answered', { talk_seconds: 60 });
const seconds = (performance.now() - began) / 1_000;
const life = (simulator.now().getTime() - from) / 1_000;
process.stdout.write(`${JSON.stringify({ seconds, life })}\n`);
