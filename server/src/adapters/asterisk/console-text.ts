/** Text that the engine's console prints for a command that changes nothing, or whose effect is looked up afterwards. */
import { ServiceError, messageOf } from '../../core/errors.ts';
import type { Common } from '../../ports/common.ts';
import { AmiConnection } from './ami/connection.ts';
import { header } from './ami/frame.ts';
import { consoleAccount } from './conf/instance.ts';
import type { Instance } from './conf/instance.ts';

const OUTPUT = header('Output');
/** Each line of the text is a header. */
const LIMITS = { bytes: 16 * 1024 * 1024, headers: 200_000 };
const ANSWER_MS = 15_000;

export interface ConsoleOptions extends Common<'clock' | 'log'> {
  /** Limit of the answer; 15 s. */
  readonly ms?: number;
  readonly signal?: AbortSignal | undefined;
}
/**
 * The whole text, however late this process reads it: the manager collects it in a file, whereas a client of the control socket
 * loses the lines that it does not read within 100 ms. Errors (ServiceError): `engine_unavailable`, `engine_timeout`.
 */
export async function consoleText(
  instance: Instance,
  command: string,
  { ms = ANSWER_MS, signal, ...kept }: ConsoleOptions,
): Promise<string> {
  const over = signal === undefined ? {} : { signal };
  const ami = await AmiConnection.open({
    host: '127.0.0.1',
    port: instance.ami_port,
    ...consoleAccount(instance),
    events: 'off',
    awaitBoot: false,
    limits: LIMITS,
    ...kept,
    ...over,
  }).catch((error: unknown) => {
    signal?.throwIfAborted();
    throw new ServiceError('engine_unavailable', messageOf(error), { cause: error });
  });
  try {
    // The engine removes its file after the first answer; one that is killed between leaves it in /tmp.
    const [{ ok, message, frame }] = await Promise.all([
      ami.action('Command', { Command: command }, { ms, ...over }),
      ami.action('Ping', {}, { ms, ...over }),
    ]);
    // A command that the engine does not know is an error with text.
    if (!ok && !frame.has(OUTPUT))
      throw new ServiceError('engine_unavailable', `the engine did not print ${command}: ${message}`);
    return frame.all(OUTPUT).join('\n');
  } finally {
    ami.close();
  }
}
