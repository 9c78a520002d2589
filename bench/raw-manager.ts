/** A minimal manager client: it searches the expected bytes without decoding. */
import net from 'node:net';

const LATE_MS = 10_000;
const END = '\r\n\r\n';
export interface RawManager {
  /** Sends an action and resolves when its response is complete. */
  action(name: string, fields?: Readonly<Record<string, string>>): Promise<string>;
  /** Sends an action that answers with a list; resolves with the number of its frames. */
  list(name: string): Promise<number>;
  /** Resolves when an event with all these pieces of text has come. */
  event(...pieces: readonly string[]): Promise<void>;
  close(): void;
}
export async function rawManager(
  port: number,
  account: { readonly user: string; readonly secret: string },
  events: string,
): Promise<RawManager> {
  const socket = net.connect({ host: '127.0.0.1', port, noDelay: true });
  const responses = new Map<string, (frame: string) => void>();
  const lists = new Map<string, { frames: number; resolve: (frames: number) => void }>();
  const waiting: { pieces: readonly string[]; resolve: () => void }[] = [];
  let text = '';
  let ids = 0;
  socket.setEncoding('latin1').on('data', (chunk) => {
    text += String(chunk);
    let from = 0;
    for (let at = text.indexOf(END); at >= 0; at = text.indexOf(END, from)) {
      const frame = text.slice(from, at);
      from = at + END.length;
      const id = /\r\nActionID: (\d+)/.exec(frame)?.[1];
      if (id === undefined) {
        const found = waiting.findIndex((w) => w.pieces.every((piece) => frame.includes(piece)));
        if (found >= 0) waiting.splice(found, 1)[0]!.resolve();
        continue;
      }
      const list = lists.get(id);
      if (list !== undefined) {
        list.frames += 1;
        const isEmpty = list.frames === 1 && frame.startsWith('Response: Error');
        if (!isEmpty && !frame.includes('EventList: Complete')) continue;
        lists.delete(id);
        list.resolve(list.frames);
      } else {
        responses.get(id)?.(frame);
        responses.delete(id);
      }
    }
    text = text.slice(from);
  });
  const write = (name: string, fields: Readonly<Record<string, string>> = {}): string => {
    const id = String((ids += 1));
    const lines = Object.entries({ Action: name, ActionID: id, ...fields }).map(([k, v]) => `${k}: ${v}`);
    socket.write(`${lines.join('\r\n')}${END}`);
    return id;
  };
  const manager: RawManager = {
    action: (name, fields) =>
      new Promise((resolve, reject) => {
        responses.set(write(name, fields), (frame) =>
          frame.includes('Response: Error') ? reject(new Error(frame)) : resolve(frame),
        );
      }),
    list: (name) => new Promise((resolve) => lists.set(write(name), { frames: 0, resolve })),
    event: (...pieces) =>
      new Promise((resolve, reject) => {
        const late = setTimeout(() => reject(new Error(`no event with ${pieces.join(' ')}`)), LATE_MS);
        const came = (): void => {
          clearTimeout(late);
          resolve();
        };
        waiting.push({ pieces, resolve: came });
      }),
    close: () => socket.destroy(),
  };
  await manager.action('Login', { Username: account.user, Secret: account.secret, Events: events });
  return manager;
}
