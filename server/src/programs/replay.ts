/**
 * `npm run replay -- file.ami`: prints the domain events of a recorded AMI stream, one JSON object per line, for a
 * support case.
 */
import fs from 'node:fs';
import { nodeId } from '@offhook/contract/ids.ts';
import { readTranscript } from '../adapters/asterisk/transcript.ts';
import { rfc3339 } from '../core/clock.ts';
import { createModel } from '../pbx/model.ts';

function replay(file: string): void {
  const { events, counters, malformed } = readTranscript(nodeId('ast1'), [fs.readFileSync(file)]);
  const model = createModel();
  for (const event of events) {
    for (const { at, type, subject, observed, data } of model.step(event)) {
      console.log(JSON.stringify({ time: rfc3339(at), type, subject, observed, data }));
    }
  }
  console.error(JSON.stringify(counters));
  for (const frame of malformed) console.error(`malformed: ${JSON.stringify(frame)}`);
}

const [file] = process.argv.slice(2);
if (file !== undefined && fs.existsSync(file)) {
  replay(file);
} else {
  console.error(file === undefined ? 'Usage: npm run replay -- <file.ami>' : `${file} does not exist`);
  process.exitCode = 2;
}
