import type { Bus, LogNews } from '../../ports/bus.ts';
import type { NatsLink } from './link.ts';

/** Largest message, in bytes; the leading node sends none that is longer. */
const MOST_BYTES = 256;

function newsOf(data: Uint8Array): LogNews | null {
  if (data.length > MOST_BYTES) return null;
  try {
    const { epoch, head } = JSON.parse(Buffer.from(data).toString()) as Partial<LogNews>;
    return typeof epoch === 'string' && Number.isSafeInteger(head) && head! >= 0
      ? { epoch, head: head! }
      : null;
  } catch {
    return null;
  }
}
/** The bus of a site over NATS, by the subject `offhook.<site>.head`. Closing it closes the link. */
export class NatsBus implements Bus {
  readonly #link: NatsLink;
  readonly #subject: string;
  readonly #listeners = new Set<(news: LogNews) => void>();
  #newest: LogNews | null = null;
  #sending = false;
  #sent = 0;
  #heard = 0;

  constructor(link: NatsLink, site: string) {
    this.#link = link;
    this.#subject = `offhook.${site}.head`;
    link.onConnected((connection) =>
      connection.subscribe(this.#subject, {
        callback: (error, message) => {
          const news = error === null ? newsOf(message.data) : null;
          if (news === null) return;
          this.#heard += 1;
          for (const listener of this.#listeners) listener(news);
        },
      }),
    );
  }
  get counts() {
    return { sent: this.#sent, heard: this.#heard };
  }
  send(news: LogNews): void {
    this.#newest = news;
    if (!this.#sending) void this.#write();
  }
  onNews(listener: (news: LogNews) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
  state = () => this.#link.state();
  close = () => this.#link.close();

  /** One message is under way at a time, so that nothing piles up for a server that hangs. */
  async #write(): Promise<void> {
    this.#sending = true;
    try {
      for (let news = this.#newest; news !== null; news = this.#newest) {
        this.#newest = null;
        const { connection } = this.#link;
        if (connection === null) return;
        connection.publish(this.#subject, JSON.stringify(news));
        this.#sent += 1;
        await Promise.race([connection.flush(), connection.closed()]);
      }
    } catch {
      // The link names why the connection ended.
      this.#newest = null;
    } finally {
      this.#sending = false;
    }
  }
}
