import { ServiceError } from '../../../core/errors.ts';
import { asteriskConf } from '../conf/instance.ts';
import type { AsteriskProgram, Instance } from '../conf/instance.ts';
import { run } from '../provision/run.ts';

export interface EngineCommandOptions {
  readonly timeout_ms?: number;
  readonly signal?: AbortSignal;
}

/**
 * Reply of the instance's own command line to `cliText`, which is one argument of the program and never of a shell. Errors
 * (ServiceError): `engine_unavailable` where no engine answers at the control socket, `engine_timeout`.
 */
export async function engineCommand(
  program: Pick<AsteriskProgram, 'command'>,
  instance: Instance,
  cliText: string,
  options: EngineCommandOptions = {},
): Promise<{ stdout: string }> {
  const { timeout_ms = 10_000, signal } = options;
  // eslint-disable-next-line no-control-regex -- these are what must not reach the console
  if (/[\0\r\n]/.test(cliText)) {
    throw new ServiceError('invalid_request', 'a console command is one line of text');
  }
  const command = [...program.command, '-C', asteriskConf(instance), '-rx', cliText];
  // The engine drops output that a console does not read within 100 ms; where lines must not be missing, see `consoleText`.
  const ended = await run(command, { timeout_ms, unread: true, ...(signal ? { signal } : {}) }).catch(
    (error: unknown) => {
      if (signal?.aborted) throw error;
      throw new ServiceError('engine_unavailable', 'the engine’s program cannot be run', { cause: error });
    },
  );
  if (ended.timed_out) {
    throw new ServiceError('engine_timeout', `the engine did not answer within ${timeout_ms / 1000} s`);
  }
  if (ended.code !== 0) {
    const said = `${ended.stdout}\n${ended.stderr}`.trim().split('\n').at(-1) ?? '';
    throw new ServiceError('engine_unavailable', `no engine answers at its control socket: ${said}`);
  }
  return { stdout: ended.stdout };
}
