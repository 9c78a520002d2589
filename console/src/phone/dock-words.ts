/** The words of the phone's button, which every page shows; the others come with the phone. */
import { defineWords } from '../app/words.ts';

export const t = defineWords({
  en: {
    phone: 'Phone',
    off: 'off',
    starting: 'starting',
    ready: 'ready',
    away: 'no connection',
    elsewhere: 'in another tab',
    refused: 'not available',
    ringing: 'ringing',
    busy: 'in a call',
  },
  tr: {
    phone: 'Telefon',
    off: 'kapalı',
    starting: 'başlıyor',
    ready: 'hazır',
    away: 'bağlantı yok',
    elsewhere: 'başka sekmede',
    refused: 'kullanılamıyor',
    ringing: 'çalıyor',
    busy: 'görüşmede',
  },
  de: {
    phone: 'Telefon',
    off: 'aus',
    starting: 'startet',
    ready: 'bereit',
    away: 'keine Verbindung',
    elsewhere: 'in anderem Tab',
    refused: 'nicht verfügbar',
    ringing: 'klingelt',
    busy: 'im Gespräch',
  },
});
