/** Queues, voicemail, parking, music: the services behind the numbers. */
import { isHere } from '../../../ports/site.ts';
import type { Site, SiteParking, SiteQueue } from '../../../ports/site.ts';
import type { Instance, InstanceSettings } from './instance.ts';
import { musicClass } from './music-file.ts';
import { soundOf } from './sounds.ts';
import { conf, dialled, joined, pin, slug, timeZone, whole, word } from './text.ts';
import type { ConfText } from './text.ts';

/**
 * The service itself ends the wrap-up: it withholds calls from the agent within milliseconds, and can end the wrap-up early. The
 * engine's own wrap-up, in full seconds, only covers the time until then.
 */
const WRAP_UP_GUARD_SECONDS = 2;
/** Shortest pause between two rounds of a queue with `ring_in_use`: agents with do not disturb end each round at once. */
const EAGER_RETRY_SECONDS = 5;
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

const yes = (is: boolean): ConfText => (is ? conf`yes` : conf`no`);
/** Shortest interval of the announcements of position and hold time, for queues without an interval of their own. */
const LEAST_SECONDS = 15;
function announcements(q: SiteQueue, site: Site, instance: Instance, what: string): ConfText {
  const every = whole(q.announce_every_seconds, `${what}: announced every`, 0, 3600);
  const periodic = q.periodic_announcement;
  return conf`
announce-frequency = ${every}
min-announce-frequency = ${whole(Math.min(q.announce_every_seconds, LEAST_SECONDS), `${what}: announced every`, 0, LEAST_SECONDS)}
announce-position = ${yes(q.announce_position)}
announce-holdtime = ${yes(q.announce_hold_time)}
announce-to-first-user = ${yes(q.announce_to_first)}
${
  q.agent_announcement === null
    ? nothing
    : conf`announce = ${soundOf(site, instance, q.agent_announcement, `${what}: announcement to agents`)}
`
}${
    periodic === null
      ? nothing
      : conf`periodic-announce = ${soundOf(site, instance, periodic.sound, `${what}: periodic announcement`)}
periodic-announce-frequency = ${whole(periodic.every_seconds, `${what}: periodic announcement`, 10, 3600)}
`
  }`;
}
function queue(q: SiteQueue, site: Site, instance: Instance): ConfText {
  const name = slug(q.name, 'a queue name');
  const what = `queue ${name}`;
  const penalty = new Map(q.members.map((m) => [m.extension, m.penalty]));
  whole(q.wrap_up_seconds, `${what}: wrap-up seconds`, 0, 3600);
  const guard = Math.min(q.wrap_up_seconds, WRAP_UP_GUARD_SECONDS);
  whole(q.retry_seconds, `${what}: retry seconds`, 1, 60);
  const retry = q.ring_in_use ? Math.max(q.retry_seconds, EAGER_RETRY_SECONDS) : q.retry_seconds;
  const members = q.static_members.map((e) => {
    const extension = dialled(e, `${what}: static member`);
    return conf`member => Local/${extension}@queue-agent,${whole(penalty.get(e) ?? 0, `${what}: penalty of ${extension}`, 0, 100)},${extension},hint:${extension}@hints
`;
  });
  return conf`
[${name}](waiting-room)
strategy = ${word(q.strategy, `${what}: strategy`, STRATEGIES)}
timeout = ${whole(q.ring_seconds, `${what}: ring seconds`, 1, 600)}
wrapuptime = ${whole(guard, `${what}: wrap-up seconds`, 0, WRAP_UP_GUARD_SECONDS)}
retry = ${whole(retry, `${what}: retry seconds`, 1, 60)}
weight = ${whole(q.weight, `${what}: weight`, 0, 100)}
ringinuse = ${yes(q.ring_in_use)}
servicelevel = ${whole(q.service_level_seconds, `${what}: service level seconds`, 1, 3600)}
musicclass = ${musicClass(q.music_class, `${what}: music`)}
maxlen = ${whole(q.max_callers, `${what}: callers at most`, 0, 10_000)}
joinempty = ${q.join_when_empty ? conf`yes` : conf`strict`}
leavewhenempty = ${q.leave_when_empty ? conf`strict` : conf`no`}
${announcements(q, site, instance, what)}${
    q.exit === null
      ? nothing
      : conf`context = exit-${name}
`
  }${joined(members, '')}
`;
}

export const queuesConf = (site: Site, instance: Instance): ConfText => conf`
[general]
persistentmembers = yes
shared_lastcall = yes
autofill = yes
log_membername_as_agent = yes

[waiting-room](!)
timeoutrestart = yes
timeoutpriority = conf
setinterfacevar = yes
setqueuevar = yes
reportholdtime = no

${joined(
  site.queues.filter(isHere).map((q) => queue(q, site, instance)),
  '',
)}#tryinclude custom/queues.conf
`;

/**
 * Mailboxes carry a number and a PIN only. A PIN that its owner changes by phone is kept in the spool folder, so that
 * Asterisk does not write into a rendered file. Telling people by e-mail is not the engine's work.
 */
export const voicemailConf = (
  { extensions, mailboxes }: Pick<Site, 'extensions' | 'mailboxes'>,
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
)}${joined(
  mailboxes.map((m) => {
    const number = dialled(m.number, 'a mailbox');
    return conf`${number} => ${pin(m.pin, `mailbox ${number}: PIN`)},${number}
`;
  }),
  '',
)}#tryinclude custom/voicemail.conf
`;

const parkingLot = (lot: SiteParking): ConfText => {
  const name = slug(lot.name, 'the name of a parking lot');
  const what = `parking lot ${name}`;
  const slot = (n: number): ConfText => dialled(whole(n, `${what}: slot`, 10, 999_999_999), `${what}: slot`);
  return conf`
[${lot.name === 'default' ? conf`default` : conf`lot-${name}`}]
context = parkedcalls
parkext = ${dialled(lot.number, `${what}: number`)}
parkext_exclusive = yes
parkpos = ${slot(lot.first_slot)}-${slot(lot.last_slot)}
parkingtime = ${whole(lot.timeout_seconds, `${what}: seconds`, 10, 86_400)}
parkedmusicclass = ${musicClass(lot.music_class, `${what}: music`)}
comebacktoorigin = no
comebackcontext = park-dial
findslot = first

`;
};
/** The engine creates the lot of this name with numbers of its own choice, unless the file declares it without any. */
const NO_DEFAULT = conf`
[default]
context = parked-nowhere

`;
export const parkingConf = (lots: readonly SiteParking[]): ConfText => conf`
[general]

${lots.some((lot) => lot.name === 'default') ? nothing : NO_DEFAULT}${joined(lots.map(parkingLot), '')}#tryinclude custom/res_parking.conf
`;
