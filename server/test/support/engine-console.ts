/** Console of an engine under test. */
import type { AsteriskProgram, Instance } from '../../src/adapters/asterisk/conf/instance.ts';
import { consoleText } from '../../src/adapters/asterisk/console-text.ts';
import { engineCommand } from '../../src/adapters/asterisk/process/control.ts';
import { systemClock } from '../../src/core/clock.ts';
import { silent } from '../../src/core/log.ts';

/** Commands that print lists, of which a client of the control socket loses the lines that it does not read within 100 ms. */
const PRINTS = / (show|list)\b/;

/** What the engine prints for a command, whole at any load. */
export const engineConsole = async (
  program: Pick<AsteriskProgram, 'command'>,
  instance: Instance,
  text: string,
): Promise<string> =>
  PRINTS.test(text)
    ? consoleText(instance, text, { clock: systemClock, log: silent })
    : (await engineCommand(program, instance, text)).stdout;
