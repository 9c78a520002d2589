import type { Scope } from '@offhook/contract/keys.ts';
import { defineWords } from '../app/words.ts';

const t = defineWords({
  en: {
    scope_directory_read: 'See the directory and who is reachable',
    scope_history_read: 'Read the call history',
    scope_history_write: 'Write notes and outcomes',
    scope_recordings_read: 'Play recordings',
    scope_calls_read: 'See calls that go on',
    scope_calls_control: 'Place and steer calls',
    scope_queues_read: 'See queues and their figures',
    scope_queues_control: 'Move callers, change members',
    scope_agents_read: 'See agents',
    scope_agents_control: 'Log agents in and out, pause them',
    scope_config_read: 'Read the configuration',
    scope_config_write: 'Change and apply the configuration',
    scope_system_read: 'See the state of the system',
    scope_webhooks_manage: 'Manage webhooks',
  },
  tr: {
    scope_directory_read: 'Rehberi ve kimin ulaşılabilir olduğunu görmek',
    scope_history_read: 'Çağrı geçmişini okumak',
    scope_history_write: 'Not ve sonuç yazmak',
    scope_recordings_read: 'Kayıtları dinlemek',
    scope_calls_read: 'Süren çağrıları görmek',
    scope_calls_control: 'Çağrı başlatmak ve yönetmek',
    scope_queues_read: 'Kuyrukları ve rakamlarını görmek',
    scope_queues_control: 'Arayanları taşımak, üyeleri değiştirmek',
    scope_agents_read: 'Temsilcileri görmek',
    scope_agents_control: 'Temsilcileri kuyruğa almak, çıkarmak, molaya almak',
    scope_config_read: 'Yapılandırmayı okumak',
    scope_config_write: 'Yapılandırmayı değiştirmek ve uygulamak',
    scope_system_read: 'Sistemin durumunu görmek',
    scope_webhooks_manage: 'Web kancalarını yönetmek',
  },
  de: {
    scope_directory_read: 'Verzeichnis und Erreichbarkeit sehen',
    scope_history_read: 'Anrufverlauf lesen',
    scope_history_write: 'Notizen und Ergebnisse schreiben',
    scope_recordings_read: 'Aufzeichnungen anhören',
    scope_calls_read: 'Laufende Anrufe sehen',
    scope_calls_control: 'Anrufe starten und steuern',
    scope_queues_read: 'Warteschlangen und ihre Zahlen sehen',
    scope_queues_control: 'Anrufer verschieben, Mitglieder ändern',
    scope_agents_read: 'Agenten sehen',
    scope_agents_control: 'Agenten an- und abmelden, pausieren',
    scope_config_read: 'Konfiguration lesen',
    scope_config_write: 'Konfiguration ändern und übernehmen',
    scope_system_read: 'Zustand des Systems sehen',
    scope_webhooks_manage: 'Webhooks verwalten',
  },
});
type Word<S extends Scope> = S extends `${infer Noun}:${infer Verb}` ? `scope_${Noun}_${Verb}` : never;
/** What a scope of an API key allows, in the reader's language. */
export const scopeText = (scope: Scope): string => t(`scope_${scope.replace(':', '_')}` as Word<Scope>);
