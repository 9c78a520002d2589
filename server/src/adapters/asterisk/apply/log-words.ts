/** Which lines of an engine's log speak of its configuration. */
import { readFile } from 'node:fs/promises';
import type { EngineProblem } from '../../../ports/engine-config.ts';

const LINE = /^\[[^\]]+\] (WARNING|ERROR|NOTICE)\[\d+\](?:\[[^\]]*\])?: ([\w./-]+):\d+ (\w+): (.*)$/;
/** What an engine says of itself with a configuration that has nothing wrong. */
const STANDING: readonly RegExp[] = [
  /^taskprocessor_push: Taskprocessor '.*' queue reached \d+ scheduled tasks/,
  /is not reloadable, maintaining previous values/,
  /^sip_transport_apply|Transport '.*' is not fully reloadable/,
];
/**
 * What only a throw-away engine says: without a socket it has no address of its own that a registration could tell. Where
 * something is wrong with one, the engine says what in a line before.
 */
const SHADOW: readonly RegExp[] = [
  /^Could not create an object of type 'registration' with id/,
  /\(PJSIP_EUNSUPTRANSPORT\)' sending OPTIONS request to endpoint/,
];
/** Where a living engine, with its calls, speaks of its configuration and of nothing else. */
const READERS =
  /^(?:config|config_options|sorcery|res_sorcery_config|pbx_config|loader|res_musiconhold|res_parking|parking_[a-z_]+|conf_config_parser|features_config|res_pjsip_endpoint_identifier_ip|config_[a-z]+|pjsip_configuration|location|named_acl|extconf)\.c$/;
/**
 * Where it speaks of calls, sounds that are played and phones alone: what somebody happens to dial or to hear during a reload
 * is nothing of the configuration. The lamp of a mailbox is told of a phone a moment before the phone is there again.
 */
const CALLS =
  /^(?:file|channel|audiohook|translate|rtp_engine|res_rtp_[a-z]+|bridge[a-z_]*|core_[a-z]+|app_(?:dial|playback|read|mixmonitor|chanspy|directed_pickup|stack|echo|exec)|func_[a-z]+|chan_pjsip|res_pjsip_(?:mwi|session|sdp_rtp|registrar|pubsub|exten_state|caller_id|diversion|refer))\.c$/;
const OF_A_CALL = /^(?:Channel|Call) '.*' (?:sent to|to) |but no invalid handler/;
/** The same in files that also speak of calls. */
const LIVE_WORDS =
  /isn't a valid|is not a valid|Unknown keyword|Unable to register extension|Unable to add|parse error|invalid|duplicate|already in use|Retaining existing configuration|Could not create an object|No closing|No '=' |not supported|does not exist/i;
/** Names of objects that the engine puts between quotes, after what they are. */
const OBJECT =
  /(?:object of type '(\w+)' with id '([^']+)'|^(?:.*)\b(endpoint|aor|auth|queue|extension|context|registration|identify) '([^']+)')/;
const FILE = /\b([a-z][a-z0-9_]{0,40}\.conf)\b/;

/** What a line says of the configuration, or null. */
export function problemOfLine(line: string, engine: 'shadow' | 'live'): EngineProblem | null {
  const found = LINE.exec(line);
  if (found === null) return null;
  const [, level, source, , said] = found as unknown as [string, string, string, string, string];
  const words = said.trim();
  const whole = `${found[3]}: ${words}`;
  if (level === 'NOTICE' && !words.startsWith('Retaining existing configuration')) return null;
  if (STANDING.some((noise) => noise.test(whole))) return null;
  if (engine === 'shadow') {
    if (SHADOW.some((noise) => noise.test(words))) return null;
  } else {
    const from = source.split('/').at(-1)!;
    if (CALLS.test(from) || OF_A_CALL.test(words)) return null;
    if (!READERS.test(from) && !LIVE_WORDS.test(words)) return null;
  }
  const object = OBJECT.exec(words);
  return {
    object: object === null ? null : `${object[1] ?? object[3]} ${object[2] ?? object[4]}`,
    file: FILE.exec(words)?.[1] ?? null,
    words,
  };
}

/** Problems in a log from a byte on; `at` is where it ends now. */
export async function readProblems(
  file: string,
  from: number,
  engine: 'shadow' | 'live',
): Promise<{ readonly problems: readonly EngineProblem[]; readonly at: number }> {
  const bytes = await readFile(file).catch(() => Buffer.alloc(0));
  // Shorter than it was: it was trimmed meanwhile, and what is left may all be new.
  const start = bytes.length < from ? 0 : from;
  const problems = new Map<string, EngineProblem>();
  for (const line of bytes.subarray(start).toString('utf8').split('\n')) {
    const problem = problemOfLine(line, engine);
    if (problem !== null && !problems.has(problem.words)) problems.set(problem.words, problem);
  }
  return { problems: [...problems.values()], at: bytes.length };
}
