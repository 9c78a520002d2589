/** All pages with their level and loader. The path is in `paths.ts`; a new page has a row in both. */
import type { ComponentType } from 'react';
import {
  Activity,
  BookUser,
  Braces,
  Cable,
  ClipboardList,
  Contact,
  Gauge,
  Headset,
  History,
  KeyRound,
  ListTree,
  PhoneMissed,
  Rocket,
  Route,
  ScrollText,
  SlidersHorizontal,
  Settings,
  ShieldCheck,
  Users,
  Webhook,
} from 'lucide-react';
import type { LucideIcon } from 'lucide-react';
import type { PersonLevel } from '@offhook/contract/ids.ts';
import { late } from './app/late.tsx';
import { PAGE_PATHS } from './app/paths.ts';
import type { PageName } from './app/paths.ts';
import type { WordOf } from './app/words.ts';

/** Parameters of the page's path. */
export type PageProps = { readonly params: Readonly<Record<string, string>> };
type Page = ComponentType<PageProps>;
interface PageRow {
  /** Null: no session is needed. */
  readonly level: PersonLevel | null;
  /** Shown without a session, too, then without the frame. */
  readonly open?: true;
  readonly Page: Page;
}
/** Pages that wallboards and agents see first need only `first-styles.ts`; the others have all styles. */
const first = <Name extends string>(
  level: PersonLevel | null,
  load: () => Promise<Readonly<Record<Name, Page>>>,
  name: Name,
): PageRow => ({ level, Page: late(async () => (await load())[name]) });
const page: typeof first = (level, load, name) =>
  first(level, async () => (await Promise.all([load(), import('./app/all-styles.ts')]))[0], name);

const wallboard = () => import('./wallboard/page.tsx');
const history = () => import('./history/page.tsx');
const config = () => import('./admin/page.tsx');
const people = () => import('./people/page.tsx');
const connectors = () => import('./connectors/page.tsx');
export const PAGES: Readonly<Record<PageName, PageRow>> = {
  home: first('user', () => import('./home.tsx'), 'HomePage'),
  wallboard: first('agent', wallboard, 'WallboardPage'),
  board: first('agent', wallboard, 'WallboardPage'),
  display: first(null, () => import('./wallboard/display.tsx'), 'DisplayPage'),
  desk: first('agent', () => import('./desk/page.tsx'), 'DeskPage'),
  directory: page('user', () => import('./directory/page.tsx'), 'DirectoryPage'),
  customers: page('user', () => import('./customers/list.tsx'), 'CustomersPage'),
  customer: page('user', () => import('./customers/detail.tsx'), 'CustomerPage'),
  history: page('user', history, 'HistoryPage'),
  conversation: page('user', history, 'ConversationPage'),
  missed: page('user', history, 'MissedPage'),
  supervisor: page('supervisor', () => import('./supervisor/page.tsx'), 'SupervisorPage'),
  account: page('user', () => import('./account/page.tsx'), 'AccountPage'),
  welcome: page('admin', () => import('./welcome/page.tsx'), 'WelcomePage'),
  config: page('admin', config, 'ConfigPage'),
  objects: page('admin', config, 'ObjectsPage'),
  object: page('admin', config, 'ObjectPage'),
  changes: page('admin', config, 'ChangesPage'),
  apply: page('admin', config, 'ApplyPage'),
  versions: page('admin', config, 'VersionsPage'),
  version: page('admin', config, 'VersionPage'),
  route_test: page('admin', config, 'RouteTestPage'),
  people: page('admin', people, 'PeoplePage'),
  person: page('admin', people, 'PersonPage'),
  api_keys: page('admin', people, 'ApiKeysPage'),
  webhooks: page('admin', people, 'WebhooksPage'),
  webhook: page('admin', people, 'WebhookPage'),
  connectors: page('admin', connectors, 'ConnectorsPage'),
  connector: page('admin', connectors, 'ConnectorPage'),
  audit: page('admin', people, 'AuditPage'),
  health: page('admin', people, 'HealthPage'),
  path_check: page('admin', people, 'PathCheckPage'),
  settings: page('admin', people, 'SettingsPage'),
  api: { ...page('user', () => import('./api/page.tsx'), 'ApiPage'), open: true },
};

export interface NavigationItem {
  readonly path: string;
  readonly label: WordOf<'app'>;
  readonly level: PersonLevel;
  readonly group: 'work' | 'admin';
  readonly Icon: LucideIcon;
}
const item = (
  path: string,
  label: NavigationItem['label'],
  level: PersonLevel,
  group: NavigationItem['group'],
  Icon: LucideIcon,
): NavigationItem => ({ path, label, level, group, Icon });
export const NAVIGATION: readonly NavigationItem[] = [
  item(PAGE_PATHS.wallboard, 'wallboard', 'agent', 'work', Gauge),
  item(PAGE_PATHS.desk, 'desk', 'agent', 'work', Headset),
  item(PAGE_PATHS.directory, 'directory', 'user', 'work', BookUser),
  item(PAGE_PATHS.customers, 'customers', 'user', 'work', Contact),
  item(PAGE_PATHS.history, 'history', 'user', 'work', History),
  item(PAGE_PATHS.missed, 'missed', 'user', 'work', PhoneMissed),
  item(PAGE_PATHS.supervisor, 'supervisor', 'supervisor', 'work', ShieldCheck),
  item(PAGE_PATHS.welcome, 'welcome', 'admin', 'admin', Rocket),
  item(PAGE_PATHS.config, 'config', 'admin', 'admin', SlidersHorizontal),
  item(PAGE_PATHS.changes, 'changes', 'admin', 'admin', ClipboardList),
  item(PAGE_PATHS.versions, 'versions', 'admin', 'admin', ListTree),
  item(PAGE_PATHS.people, 'people', 'admin', 'admin', Users),
  item(PAGE_PATHS.api_keys, 'api_keys', 'admin', 'admin', KeyRound),
  item(PAGE_PATHS.webhooks, 'webhooks', 'admin', 'admin', Webhook),
  item(PAGE_PATHS.connectors, 'connectors', 'admin', 'admin', Cable),
  item(PAGE_PATHS.audit, 'audit', 'admin', 'admin', ScrollText),
  item(PAGE_PATHS.health, 'health', 'admin', 'admin', Activity),
  item(PAGE_PATHS.path_check, 'path_check', 'admin', 'admin', Route),
  item(PAGE_PATHS.settings, 'settings', 'admin', 'admin', Settings),
  item(PAGE_PATHS.api, 'api', 'user', 'work', Braces),
];
