/** Prompts of the engine that rendered files can play: those they name, and those of the applications they use. */
import type { EngineFiles } from '../../../ports/engine-config.ts';

/** Names of prompts with a common beginning. */
const named = (prefix: string, ends: string): readonly string[] =>
  ends.split(' ').map((end) => `${prefix}${end}`);
const DIGITS = named('digits/', '0 1 2 3 4 5 6 7 8 9');
const NUMBERS = [
  ...DIGITS,
  ...named('digits/', '10 11 12 13 14 15 16 17 18 19 20 30 40 50 60 70 80 90 hundred thousand'),
];
const DATES = [
  ...named('digits/', 'day-0 day-1 day-2 day-3 day-4 day-5 day-6 today yesterday at'),
  ...named('digits/', 'mon-0 mon-1 mon-2 mon-3 mon-4 mon-5 mon-6 mon-7 mon-8 mon-9 mon-10 mon-11'),
];
const LEAVE = [
  'beep',
  'auth-thankyou',
  ...named('vm-', 'intro goodbye theperson isunavail isonphone nobodyavail mailboxfull'),
];
const MAILBOX = [
  ...named('vm-', 'login password incorrect incorrect-mailbox youhave no and message messages INBOX Old'),
  ...named(
    'vm-',
    'onefor opts options helpexit first last next prev repeat delete deleted undelete undeleted',
  ),
  ...named(
    'vm-',
    'nomore received from from-phonenumber unknown-caller savemessage savefolder saved savedto',
  ),
  ...named('vm-', 'toforward changeto for press messages newpassword reenterpassword passchanged mismatch'),
];
const POSITION = named('queue-', 'youarenext thereare callswaiting thankyou');
const HOLD_TIME = named('queue-', 'holdtime minute minutes seconds less-than');
const ROOM = [
  ...named('conf-', 'onlyperson waitforleader getpin invalidpin locked full'),
  ...named('confbridge-', 'pin pin-bad only-participant join leave'),
];

/** Applications of the dialplan, and settings of a queue, with the prompts that they play by themselves. */
const OWN: readonly (readonly [file: string, uses: RegExp, prompts: readonly string[]])[] = [
  ['extensions.conf', /,VoiceMail\(/, LEAVE],
  ['extensions.conf', /,VoiceMailMain\(/, [...LEAVE, ...MAILBOX, ...NUMBERS, ...DATES]],
  ['extensions.conf', /,SayDigits\(/, DIGITS],
  ['extensions.conf', /,ConfBridge\(/, ROOM],
  // The night switch chooses between two.
  ['extensions.conf', /\?activated:de-activated\)/, ['activated', 'de-activated']],
  ['queues.conf', /^announce-position = yes$/m, [...POSITION, ...NUMBERS]],
  ['queues.conf', /^announce-holdtime = yes$/m, [...HOLD_TIME, ...NUMBERS]],
];
/** Steps whose first argument is a prompt, or several with `&` between; of `Read` it is the second. */
const PLAYS = /[,?](?:Playback|Background)\(([^,)]*)|,Read\([^,)]*,([^,)]*)/g;
const NAME = /^[A-Za-z0-9][A-Za-z0-9_/-]*$/;

/** Sorted, each once. */
export function neededPrompts(files: EngineFiles): readonly string[] {
  const dialplan = files.get('extensions.conf') ?? '';
  const found = new Set<string>();
  for (const [, played, read] of dialplan.matchAll(PLAYS))
    for (const name of (played ?? read ?? '').split('&')) if (NAME.test(name)) found.add(name);
  for (const [file, uses, prompts] of OWN)
    if (uses.test(files.get(file) ?? '')) for (const name of prompts) found.add(name);
  return [...found].sort();
}
