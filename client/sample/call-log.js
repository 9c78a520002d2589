/** A log of finished calls for another system: complete and without duplicates, whatever faults the connection has. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '@offhook/client';

const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 5_000;

export class CallLog {
  /** Finished conversations by id. */
  lines = new Map();
  #offhook;
  #stream;
  #cursor;
  #closed = new AbortController();

  constructor({ base, token }) {
    this.#offhook = createClient({ base, token });
    this.#stream = this.#offhook.stream({ topics: ['history'], snapshot: true });
  }
  /** Follows the site until `close`: every event, gap and snapshot starts a read of the new part of the feed. */
  async follow() {
    try {
      for await (const item of this.#stream) if (item) await this.read();
    } catch (error) {
      if (!this.#closed.signal.aborted) throw error;
    }
  }
  close() {
    this.#closed.abort();
    this.#stream.close();
  }
  async read() {
    for (let more = true; more;) {
      const page = await this.#page();
      for (const change of page.changes) this.#take(change);
      ({ cursor: this.#cursor, more } = page);
    }
  }

  #take({ id, merged_into, conversation }) {
    if (merged_into !== null) this.lines.delete(id);
    else if (conversation.state !== 'open') this.lines.set(id, conversation);
  }
  /** Repeats the request until the site answers: a restart or a network failure may last any time. */
  async #page() {
    for (let wait_ms = FIRST_WAIT_MS; ; wait_ms = Math.min(2 * wait_ms, LONGEST_WAIT_MS)) {
      try {
        return await this.#offhook.conversations.changes({ limit: 100, cursor: this.#cursor });
      } catch (error) {
        // After a restore of the site, the cursor is unknown and the feed is read from the beginning.
        if (error.code === 'position_unknown') this.#cursor = undefined;
        else if (error.status >= 400 && error.status < 500 && error.status !== 429) throw error;
        await sleep(wait_ms, undefined, { signal: this.#closed.signal });
      }
    }
  }
}

/** A receiver of webhooks that counts an event once, however often it is sent. */
export class Receiver {
  events = new Map();
  deliveries = 0;

  /** Handler of `http.createServer`. */
  handle = async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    this.deliveries += 1;
    this.events.set(request.headers['webhook-id'], JSON.parse(Buffer.concat(chunks).toString()));
    response.end();
  };
}
