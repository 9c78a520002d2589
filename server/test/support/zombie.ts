import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { until } from './until.ts';

/** A process that ended and whose parent does not collect its status; with its pid and start time. */
export async function zombie(): Promise<{ readonly pid: number; readonly start: string } & Disposable> {
  const parent = spawn('sh', ['-c', 'sh -c "read -r line </proc/self/stat; echo \\$\\$" & exec sleep 600'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  parent.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const fields = await until('a zombie', () => {
    const pid = Number(said);
    if (!(pid > 0)) return undefined;
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    const found = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return found[0] === 'Z' ? { pid, start: found[19]! } : undefined;
  });
  return { ...fields, [Symbol.dispose]: () => void parent.kill('SIGKILL') };
}
