/** The stream of the rows in JetStream, by the library of its authors. */
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { REPUBLISHED, STORED, STREAM } from './nats.ts';

/** Makes the stream in files, with one copy; `republish` sends each stored event on, with its number in the stream. */
export async function openStream(port: number, republish: boolean) {
  const connection = await connect({ servers: `127.0.0.1:${port}` });
  const manager = await jetstreamManager(connection);
  await manager.streams.add({
    name: STREAM,
    subjects: [STORED],
    storage: 'file',
    num_replicas: 1,
    ...(republish ? { republish: { src: STORED, dest: REPUBLISHED } } : {}),
  });
  const writer = jetstream(connection);
  return {
    /** Sends all events at once; resolves when the stream has stored them. */
    async append(texts: readonly string[]): Promise<void> {
      await Promise.all(texts.map((text) => writer.publish(STORED, text, { retries: 0 })));
    },
    async [Symbol.asyncDispose]() {
      await manager.streams.delete(STREAM);
      await connection.close();
    },
    /** Ends the connection; the stream stays. */
    leave: () => connection.close(),
  };
}
