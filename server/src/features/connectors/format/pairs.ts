import { isDeepStrictEqual } from 'node:util';
import { parse } from 'yaml';
import { z } from 'zod';
import type { Clock } from '../../../ports/clock.ts';
import { SIGN_IN } from './auth.ts';
import type { ConnectorFile } from './load.ts';
import type { ConnectorResult, TracedExchange } from './requests.ts';
import { openConnector } from './session.ts';
import { runStep } from './verbs.ts';
import type { Step } from './verbs.ts';

const Exchange = z.strictObject({
  method: z.string(),
  url: z.string(),
  body: z.json().optional(),
  status: z.int().min(100).max(599),
  answer: z.json().optional(),
});
const Given = z.strictObject({
  do: z.string(),
  number: z.string().optional(),
  text: z.string().optional(),
  name: z.string().optional(),
  id: z.string().optional(),
  attached: z.string().optional(),
  pushed: z.string().optional(),
  customer: z.string().optional(),
  user: z.string().optional(),
  cursor: z.string().optional(),
  page: z.string().or(z.number()).optional(),
});
/** Recorded steps with requests, answers and results, from `<name>.test.yaml` beside a connector file. */
const Pairs = z.strictObject({
  settings: z.record(z.string(), z.string()),
  steps: z.array(z.strictObject({ ...Given.shape, asks: z.array(Exchange), gives: z.json() })).min(1),
});
export type Pairs = z.output<typeof Pairs>;

/** A body in the form for comparisons: JSON as a value, a form as text. */
function readBody(text: string | null): unknown {
  if (text === null) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
/** Recording of a step; undefined members are left out of the YAML. */
export const recordStep = (
  step: Step,
  traced: readonly TracedExchange[],
  result: ConnectorResult<unknown>,
): object => ({
  ...step,
  asks: traced
    .filter(({ verb }) => verb !== SIGN_IN)
    .map(({ method, url, body, status, answer }) => ({
      method,
      url,
      body: readBody(body),
      status,
      answer: answer === '' ? undefined : readBody(answer),
    })),
  gives: result,
});

/** Replays the recorded steps without a network; returns the differences from the recording. */
export async function playPairs(file: ConnectorFile, text: string, clock: Clock): Promise<readonly string[]> {
  const read = Pairs.safeParse(parse(text, { schema: 'core', maxAliasCount: 100 }));
  if (!read.success) return read.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  const { settings, steps } = read.data;
  // A sign-in is not recorded, because its answer is a secret.
  const signedIn: ConnectorFile =
    file.auth.kind === 'exchange' || file.auth.kind === 'oauth2' ? { ...file, auth: { kind: 'none' } } : file;
  const wrong: string[] = [];
  const shown = (value: unknown): string => JSON.stringify(value) ?? 'nothing';
  for (const [i, { asks, gives, ...step }] of steps.entries()) {
    const about = `step ${i + 1} (${step.do})`;
    const traced: TracedExchange[] = [];
    let next = 0;
    const session = openConnector(signedIn, settings, {
      clock,
      trace: (exchange) => traced.push(exchange),
      send: () => {
        const pair = asks[next++];
        const answer = pair?.answer === undefined ? '' : JSON.stringify(pair.answer);
        return Promise.resolve({
          kind: pair ? 'answered' : 'unsent',
          status: pair?.status ?? null,
          error: pair ? null : 'one request more than recorded',
          body: Buffer.from(answer),
          whole: true,
          retry_after_seconds: null,
          latency_ms: 0,
        });
      },
    });
    const result = await runStep(session, step, new AbortController().signal);
    for (const [n, { method, url, body }] of traced.entries()) {
      const was = asks[n];
      const is = { method, url, body: readBody(body) };
      const expected = { method: was?.method, url: was?.url, body: was?.body };
      if (!isDeepStrictEqual(is, expected))
        wrong.push(`${about}: asks ${shown(is)} instead of ${shown(expected)}`);
    }
    if (traced.length < asks.length)
      wrong.push(`${about}: ${asks.length - traced.length} requests less than recorded`);
    // Compared as JSON, where an undefined member is absent.
    const made: unknown = JSON.parse(JSON.stringify(result));
    if (!isDeepStrictEqual(made, gives))
      wrong.push(`${about}: gives ${shown(made)} instead of ${shown(gives)}`);
  }
  return wrong;
}
