import { createHmac, randomBytes } from 'node:crypto';

/** New at every start, so that a mark reveals only whether two secrets are equal. */
const key = randomBytes(32);
const mark = (secret: string): string =>
  `(hidden ${createHmac('sha256', key).update(secret).digest('hex').slice(0, 8)})`;

/** An option whose value is a secret, anywhere in a line: `password`, `secret`, `pin`, `admin_pin`, `register => …`. */
const OPTION =
  /^(\s*(?:(?:[a-z0-9]+[_-])*(?:password|secret|passwd|pin|md5_cred)|register)\s*=>?\s*)(\S.*)$/i;
const MAILBOX = /^(\s*[0-9]+\s*=>\s*)((?:[^,\s][^,\r\n]*)?)((?:,.*)?)$/;
/** A dialplan function with a PIN as its argument, and a step that compares a PIN. */
const STEPS = /([,(](?:admin_)?pin\)\s*=\s*|_PIN\}"\s*=\s*")([^,)\s"]+)/gi;

/** The text of a configuration file with a mark in the place of every secret, the same for the same secret; lines stay lines. */
export const hiddenSecrets = (name: string, text: string): string =>
  text
    .split('\n')
    .map((line) => {
      if (name.endsWith('voicemail.conf') && MAILBOX.test(line))
        return line.replace(MAILBOX, (_, head: string, pin: string, rest: string) => head + mark(pin) + rest);
      if (OPTION.test(line))
        return line.replace(OPTION, (_, head: string, value: string) => head + mark(value));
      return line.replaceAll(STEPS, (_, head: string, pin: string) => head + mark(pin));
    })
    .join('\n');
