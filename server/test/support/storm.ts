/**
 * A storm of SIP requests without an account from one address, in a process of its own: `storm` starts it, also in another
 * net. It sends the given number at the given rate, or slower on a busy machine, and counts the final answers.
 */
import { spawn } from 'node:child_process';
import dgram from 'node:dgram';
import { once } from 'node:events';
import { randomBytes } from 'node:crypto';

export interface StormOptions {
  readonly server: { readonly host: string; readonly port: number };
  /** Own addresses, each of which sends in its turn. */
  readonly from: readonly string[];
  readonly method: 'REGISTER' | 'INVITE' | 'OPTIONS';
  /** Account and called number; `{n}` is the number of the request. */
  readonly account: string;
  readonly number: string;
  readonly agent: string;
  readonly count: number;
  readonly perSecond: number;
  /** With an answer to a challenge that was never sent, so that each request is a wrong password. */
  readonly password?: boolean;
  /** Time for the answers after the last request, ms. */
  readonly linger_ms: number;
}
export interface Stormed {
  /** Final answers by status. */
  readonly answers: Readonly<Record<string, number>>;
  readonly seconds: number;
}

/** `through` is the command that runs a program in another net. */
export async function storm(options: StormOptions, through: readonly string[] = []): Promise<Stormed> {
  const [program, ...args] = [...through, process.execPath, import.meta.filename] as const;
  const child = spawn(program, [...args, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`the storm ended with ${code}`);
  return JSON.parse(text) as Stormed;
}

function requestOf(o: StormOptions, n: number, from: string, port: number): Buffer {
  const [account, number] = [o.account, o.number].map((text) => text.replaceAll('{n}', String(n)));
  const at = `${o.server.host}:${o.server.port}`;
  const id = randomBytes(8).toString('hex');
  const register = o.method === 'REGISTER';
  const uri = register ? `sip:${at}` : `sip:${number}@${at}`;
  const digest = `Digest username="${account}", realm="asterisk", nonce="1/${id}", uri="${uri}", response="${id}${id}", algorithm=MD5`;
  return Buffer.from(
    [
      `${o.method} ${uri} SIP/2.0`,
      `Via: SIP/2.0/UDP ${from}:${port};rport;branch=z9hG4bK${id}`,
      'Max-Forwards: 70',
      `From: <sip:${account}@${at}>;tag=${id}`,
      `To: <sip:${register ? account : number}@${at}>`,
      `Call-ID: ${id}`,
      `CSeq: 1 ${o.method}`,
      `Contact: <sip:${account}@${from}:${port}>`,
      `User-Agent: ${o.agent}`,
      ...(o.password === true ? [`Authorization: ${digest}`] : []),
      'Content-Length: 0',
      '',
      '',
    ].join('\r\n'),
  );
}
async function run(o: StormOptions): Promise<Stormed> {
  const answers: Record<string, number> = {};
  const senders = await Promise.all(
    o.from.map(async (host) => {
      const socket = dgram.createSocket('udp4');
      socket.bind(0, host);
      await once(socket, 'listening');
      socket.on('error', () => undefined);
      socket.on('message', (data) => {
        const status = /^SIP\/2\.0 ([2-6]\d\d) /.exec(data.toString('latin1'))?.[1];
        if (status !== undefined) answers[status] = (answers[status] ?? 0) + 1;
      });
      return { socket, host, port: socket.address().port };
    }),
  );
  const began = performance.now();
  let sent = 0;
  while (sent < o.count) {
    const due = Math.min(o.count, Math.ceil(((performance.now() - began) / 1_000) * o.perSecond), sent + 200);
    for (; sent < due; sent += 1) {
      const { socket, host, port } = senders[sent % senders.length]!;
      socket.send(requestOf(o, sent, host, port), o.server.port, o.server.host);
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const seconds = (performance.now() - began) / 1_000;
  const all = (): number => Object.values(answers).reduce((sum, n) => sum + n, 0);
  const over = performance.now() + o.linger_ms;
  while (all() < o.count && performance.now() < over) await new Promise((resolve) => setTimeout(resolve, 20));
  for (const { socket } of senders) socket.close();
  return { answers, seconds };
}

if (import.meta.main)
  process.stdout.write(JSON.stringify(await run(JSON.parse(process.argv[2] ?? '') as StormOptions)));
