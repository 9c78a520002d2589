import { Client } from 'pg';
import { unavailable } from './errors.ts';
import { ANSWER_MS, applicationName, clientConfig, placeOf } from './settings.ts';

/**
 * One session for statements that run one after the other; opened on first use, and again after a loss. `schema`
 * creates missing tables.
 */
export class OneSession {
  readonly #url: string;
  readonly #server: string;
  readonly #name = applicationName();
  #client: Promise<Client> | null = null;
  readonly #schema: string;
  constructor(url: string, schema: string) {
    this.#url = url;
    this.#schema = schema;
    this.#server = placeOf(url);
  }
  /** `name`: the server keeps the parsed statement under it for the session, so that a repeated one costs less. */
  async ask<R extends object>(
    text: string,
    values?: readonly unknown[],
    name?: string,
  ): Promise<{ readonly rows: readonly R[]; readonly count: number }> {
    const opening = (this.#client ??= this.#open());
    let client: Client | undefined;
    let timer: NodeJS.Timeout | undefined;
    try {
      client = await opening;
      // Ending a session during a statement closes its connection.
      timer = setTimeout(() => this.#drop(opening), ANSWER_MS);
      const { rows, rowCount } = await client.query<R>({ text, values: values?.slice(), name });
      return { rows, count: rowCount ?? 0 };
    } catch (error) {
      this.#drop(opening);
      throw unavailable(error, this.#server);
    } finally {
      clearTimeout(timer);
    }
  }
  async close(): Promise<void> {
    const opened = await this.#client?.catch(() => null);
    this.#client = null;
    await opened?.end();
  }
  async #open(): Promise<Client> {
    const client = new Client(clientConfig(this.#url, this.#name, 'writing'));
    client.on('error', () => {});
    const timer = setTimeout(() => void client.end().catch(() => {}), ANSWER_MS);
    try {
      await client.connect();
      await client.query(this.#schema);
      return client;
    } catch (error) {
      void client.end().catch(() => {});
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }
  #drop(opening: Promise<Client>): void {
    if (this.#client === opening) this.#client = null;
    void opening.then((client) => client.end()).catch(() => {});
  }
}
