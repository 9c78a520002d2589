/** The control of the simulator over HTTP, for tests in any language. */
import type http from 'node:http';
import { z } from 'zod';
import { ServiceError, messageOf } from '../core/errors.ts';
import { Fault } from './faults.ts';
import { CONTROL } from './front.ts';
import type { SimulatedService } from './simulator.ts';
import { Steps } from './steps.ts';
import { CAST, STORIES, STORY_NAMES } from './stories.ts';

const MOST_BYTES = 1_048_576;
const Number_ = z.string().regex(/^\+?[0-9*#]{1,20}$/);
const Seconds = z.number().min(0).max(86_400);
const Play = z
  .strictObject({
    story: z.enum(STORY_NAMES).optional(),
    cast: z
      .strictObject({
        caller: Number_.default(CAST.caller),
        agent: Number_.default(CAST.agent),
        other: Number_.default(CAST.other),
        queue: Number_.default(CAST.queue),
        ring_seconds: Seconds.default(CAST.ring_seconds),
        talk_seconds: Seconds.default(CAST.talk_seconds),
      })
      .prefault({}),
    steps: Steps.optional(),
  })
  .refine(({ story, steps }) => (story === undefined) !== (steps === undefined), {
    error: 'expected either story or steps',
  });
const Advance = z.strictObject({ by: z.union([z.number(), z.string()]) });
const Nothing = z.strictObject({});

async function bodyOf<T extends z.ZodType>(request: http.IncomingMessage, schema: T): Promise<z.output<T>> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MOST_BYTES) throw new ServiceError('invalid_request', `the body: at most ${MOST_BYTES} bytes`);
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString('utf8');
  let value: unknown;
  try {
    value = text === '' ? {} : JSON.parse(text);
  } catch {
    throw new ServiceError('invalid_request', 'the body: expected JSON');
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw new ServiceError('invalid_request', z.prettifyError(parsed.error));
  return parsed.data;
}
const stateOf = (simulator: SimulatedService) => ({
  base: simulator.base,
  now: simulator.now().toISOString(),
  key: simulator.key,
  users: simulator.users,
  stories: STORY_NAMES,
});

/**
 * The control needs no key, so a page in a browser must not reach it, neither from another origin nor by a host name of
 * its own that resolves to the loopback address. Throws `forbidden`.
 */
function checkProgram(
  { base }: SimulatedService,
  { headers: { host = '', origin } }: http.IncomingMessage,
): void {
  if (origin !== undefined && origin !== base)
    throw new ServiceError(
      'forbidden',
      `the control does not accept requests of web pages (${origin}): use a program`,
    );
  if (!/^(?:127\.0\.0\.1|localhost)(?::\d+)?$/i.test(host))
    throw new ServiceError('forbidden', `the control answers at ${base}, not at ${host}`);
}
async function actOn(simulator: SimulatedService, request: http.IncomingMessage): Promise<unknown> {
  checkProgram(simulator, request);
  const path = request.url?.slice(CONTROL.length).split('?')[0];
  const wanted = `${request.method} ${path === '' ? '/' : path}`;
  switch (wanted) {
    case 'GET /':
      return stateOf(simulator);
    case 'GET /requests':
      return { requests: simulator.requests() };
    case 'POST /play': {
      const body = await bodyOf(request, Play);
      const { story, cast, steps = [] } = body;
      const played = await simulator.play(story === undefined ? steps : STORIES[story](cast));
      return { ...played, now: simulator.now().toISOString() };
    }
    case 'POST /advance':
      await simulator.advance((await bodyOf(request, Advance)).by);
      return { now: simulator.now().toISOString() };
    case 'POST /faults':
      await simulator.fault(await bodyOf(request, Fault));
      return { now: simulator.now().toISOString() };
    case 'POST /reset':
      await bodyOf(request, Nothing);
      await simulator.reset();
      return stateOf(simulator);
    default:
      throw new ServiceError(
        'not_found',
        `there is no ${wanted}: use GET ${CONTROL}, GET ${CONTROL}/requests, POST ${CONTROL}/play, /advance, /faults or /reset`,
      );
  }
}
const STATUS: Readonly<Record<string, number>> = {
  invalid_request: 400,
  forbidden: 403,
  not_found: 404,
  engine_refused: 409,
};

export async function answerControl(
  simulator: SimulatedService,
  request: http.IncomingMessage,
  response: http.ServerResponse,
): Promise<void> {
  const send = (status: number, body: unknown): void => {
    request.resume();
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(`${JSON.stringify(body)}\n`);
  };
  try {
    send(200, { success: true, ...((await actOn(simulator, request)) as object) });
  } catch (error) {
    const code = error instanceof ServiceError ? error.code : 'internal';
    send(STATUS[code] ?? 500, { success: false, code, detail: messageOf(error) });
  }
}
