import { tool } from '../../../tools/install.ts';

/** Members of a Model Context Protocol client that tests use; both official libraries have this shape. */
export interface McpClient {
  connect(transport: unknown): Promise<void>;
  close(): Promise<void>;
  listTools(): Promise<{ readonly tools: readonly ListedTool[] }>;
  callTool(call: { readonly name: string; readonly arguments?: object }): Promise<ToolResult>;
  listResources(): Promise<{ readonly resources: readonly { readonly uri: string }[] }>;
  listResourceTemplates(): Promise<{
    readonly resourceTemplates: readonly { readonly uriTemplate: string }[];
  }>;
  readResource(of: {
    readonly uri: string;
  }): Promise<{ readonly contents: readonly { readonly text: string }[] }>;
  getInstructions(): string | undefined;
  setRequestHandler(method: unknown, handler: (request: Elicitation) => Promise<object>): void;
}
export interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: { readonly properties?: object; readonly required?: readonly string[] };
  readonly outputSchema?: object;
  readonly annotations?: { readonly readOnlyHint?: boolean };
}
export interface ToolResult {
  readonly isError?: boolean;
  readonly content: readonly { readonly type: string; readonly text: string }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
}
/** Question of a server to the person, in a form. */
export interface Elicitation {
  readonly params: { readonly message: string };
}
type Transport = new (url: URL, options: { readonly requestInit: RequestInit }) => unknown;
interface Library {
  readonly Client: new (info: object, options: object) => McpClient;
  readonly StreamableHTTPClientTransport: Transport;
}
/** `2026`: the library of the revision without sessions; `2025`: the previous one, which most programs still use. */
export type Era = '2026' | '2025';

async function library(era: Era): Promise<Library> {
  if (era === '2026') return (await tool('@modelcontextprotocol/client')) as Library;
  const [client, transport] = await Promise.all([
    tool('@modelcontextprotocol/sdk/client/index.js'),
    tool('@modelcontextprotocol/sdk/client/streamableHttp.js'),
  ]);
  return { ...(client as object), ...(transport as object) } as Library;
}
/** A client connected to `/mcp` of this address with this API key or session. */
export async function mcpClient(
  era: Era,
  base: string,
  token: string,
  capabilities: object = {},
): Promise<McpClient> {
  const { Client, StreamableHTTPClientTransport } = await library(era);
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities, ...(era === '2026' ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {}) },
  );
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL('/mcp', base), { requestInit: { headers } }),
  );
  return client;
}
/** The JSON of a result, after the sentence that marks it as data. */
export const dataOf = ({ content }: ToolResult): unknown => JSON.parse(content.at(-1)!.text);
