/** Queues, voicemail, parking, music: the services behind the numbers. */
import type { SiteExtension, SiteParking, SiteQueue } from '../../../ports/site.ts';
import type { InstanceSettings } from '../instance.ts';
import { conf, dialled, joined, pin, slug, timeZone, whole, word } from './text.ts';
import type { ConfText } from './text.ts';

/**
 * The wrap-up itself is the service's: it holds the agent back within milliseconds, and can so end it early. What the engine does
 * by itself, in whole seconds, only covers the time until then.
 */
const WRAP_UP_GUARD_SECONDS = 2;
const nothing = conf``;
const STRATEGIES = [
  'ringall',
  'leastrecent',
  'fewestcalls',
  'random',
  'rrmemory',
  'linear',
  'rrordered',
  'wrandom',
] as const;

function queue(q: SiteQueue): ConfText {
  const name = slug(q.name, 'a queue name');
  const what = `queue ${name}`;
  const guard = Math.min(q.wrap_up_seconds, WRAP_UP_GUARD_SECONDS);
  const members = q.static_members.map((e) => {
    const extension = dialled(e, `${what}: static member`);
    return conf`member => Local/${extension}@queue-agent,0,${extension},hint:${extension}@hints
`;
  });
  return conf`
[${name}](waiting-room)
strategy = ${word(q.strategy, `${what}: strategy`, STRATEGIES)}
timeout = ${whole(q.ring_seconds, `${what}: ring seconds`, 1, 600)}
wrapuptime = ${whole(guard, `${what}: wrap-up seconds`, 0, 3600)}
maxlen = ${whole(q.max_callers, `${what}: callers at most`, 0, 10_000)}
joinempty = ${q.join_when_empty ? conf`yes` : conf`strict`}
leavewhenempty = ${q.leave_when_empty ? conf`strict` : conf`no`}
${
  q.exit === null
    ? nothing
    : conf`context = exit-${name}
`
}${joined(members, '')}
`;
}

export const queuesConf = (queues: readonly SiteQueue[]): ConfText => conf`
[general]
persistentmembers = yes
shared_lastcall = yes
autofill = yes
log_membername_as_agent = yes

[waiting-room](!)
musicclass = default
ringinuse = no
timeoutrestart = yes
timeoutpriority = conf
retry = 1
setinterfacevar = yes
setqueuevar = yes
announce-frequency = 0
announce-position = no
announce-holdtime = no
reportholdtime = no
servicelevel = 20

${joined(
  queues.map((q) => queue(q)),
  '',
)}#tryinclude custom/queues.conf
`;

/**
 * Mailboxes carry a number and a PIN only. A PIN that its owner changes by phone is kept in the spool folder, so that
 * Asterisk does not write into a rendered file. Telling people by e-mail is not the engine's work.
 */
export const voicemailConf = (
  extensions: readonly SiteExtension[],
  settings: InstanceSettings,
): ConfText => conf`
[general]
format = wav
passwordlocation = spooldir
maxmsg = 100
maxsecs = 300
minsecs = 2
maxlogins = 3
attach = no
sendvoicemail = no
review = yes
minpassword = 4
tz = site

[zonemessages]
site = ${timeZone(settings.zone, 'the zone')}|'vm-received' Q 'digits/at' R

[default]
${joined(
  extensions
    .filter((e) => e.voicemail)
    .map((e) => {
      const extension = dialled(e.extension, 'an extension');
      return conf`${extension} => ${pin(e.voicemail_pin, `extension ${extension}: voicemail PIN`)},${extension}
`;
    }),
  '',
)}#tryinclude custom/voicemail.conf
`;

export function parkingConf(lots: readonly SiteParking[]): ConfText {
  const parking = lots.find((lot) => lot.name === 'default');
  if (parking === undefined)
    return conf`
[general]
`;
  const slot = (n: number, what: string): ConfText => dialled(whole(n, what, 10, 9_999_999_999), what);
  return conf`
[general]

[default]
context = parkedcalls
parkext = ${dialled(parking.number, 'the parking number')}
parkpos = ${slot(parking.first_slot, 'the first parking slot')}-${slot(parking.last_slot, 'the last parking slot')}
parkingtime = ${whole(parking.timeout_seconds, 'parking seconds', 10, 86_400)}
comebacktoorigin = no
comebackcontext = park-dial
findslot = first
`;
}

export const musicConf = conf`
[default]
mode = files
directory = moh
sort = random

#tryinclude custom/musiconhold.conf
`;
