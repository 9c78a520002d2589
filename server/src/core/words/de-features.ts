/** Refusals of agents, calls, history and what else people work with in German. */
export const features: Readonly<Record<string, string>> = {
  'must be the name of a node': 'muss der Name eines Knotens sein',
  'there is no node {0}; there are: {1}': 'den Knoten {0} gibt es nicht; es gibt: {1}',
  '{0} is being drained: end the drain first': '{0} wird geleert: beenden Sie das zuerst',
  '{0} leads the site already': '{0} führt die Anlage schon',
  '{0} cannot lead the site: it must be a standby with a running engine':
    '{0} kann die Anlage nicht führen: er muss eine Bereitschaft mit laufender Anlage sein',
  '{0} is a web node and needs no drain: stop its service, and its clients connect to another node':
    '{0} ist ein Webknoten und wird nicht geleert: beenden Sie seinen Dienst, dann verbinden sich seine Clients mit einem anderen',
  '{0} is a home node and cannot be drained: its people have no phones while its service is stopped':
    '{0} ist ein Knoten mit eigenen Personen und wird nicht geleert: sie haben keine Telefone, solange sein Dienst angehalten ist',
  '{0} leads the site, and no standby can take it':
    '{0} führt die Anlage, und keine Bereitschaft kann sie übernehmen',
  '{0} is not being drained': '{0} wird nicht geleert',
  'logout_token: not a logout token of the provider for this site, expired, or received before':
    'logout_token: kein Abmelde-Token des Anbieters für diesen Dienst, abgelaufen oder schon empfangen',
  'too many refused logouts; wait a moment': 'zu viele abgelehnte Abmeldungen; warten Sie einen Moment',
  'too many logouts at once; try again shortly':
    'zu viele Abmeldungen auf einmal; versuchen Sie es gleich noch einmal',
  'this site has no sign-in with the company account': 'hier gibt es keine Anmeldung mit dem Firmenkonto',
  'this code is unknown, was used, or has expired':
    'dieser Code ist unbekannt, schon benutzt oder abgelaufen',
  'too many codes are open; try again in two minutes':
    'es sind zu viele Codes offen; versuchen Sie es in zwei Minuten wieder',
  'this person has a second factor and must create the code in their own account':
    'diese Person hat einen zweiten Faktor und erzeugt den Code im eigenen Konto',
  'extension: this person has no password, so a sign-in code cannot be created':
    'extension: diese Person hat kein Passwort, daher gibt es keinen Code zum Anmelden',
  'the engine adapter failed: {0}': 'die Anbindung der Anlage ist gescheitert: {0}',
  'the engine did not confirm within {0} s: {1}': 'die Anlage hat nicht innerhalb von {0} s bestätigt: {1}',
  '{0} was removed from {1} meanwhile': '{0} wurde inzwischen aus {1} herausgenommen',
  'you may not see the agent {0}': 'Sie dürfen den Agenten {0} nicht sehen',
  'this network is not blocked': 'dieses Netz ist nicht gesperrt',
  '{0} is not an agent': '{0} ist kein Agent',
  '{0} actions of {1} are still under way': '{0} Aktionen von {1} sind noch in Arbeit',
  'you may not change the agent {0}': 'Sie dürfen den Agenten {0} nicht ändern',
  '{0} is not in wrap-up in a queue of this API key':
    '{0} ist in keiner Nachbearbeitung einer Warteschlange dieses Schlüssels',
  '{0} is not a member of any queue': '{0} ist in keiner Warteschlange Mitglied',
  '{0} is not a member of {1}': '{0} ist kein Mitglied von {1}',
  '{0} is not an agent of any queue': '{0} ist Agent keiner Warteschlange',
  '{0} is not an agent of {1}': '{0} ist kein Agent von {1}',
  '{0} belongs to {1} by configuration and cannot leave; nothing was changed':
    '{0} gehört laut Konfiguration fest zu {1} und kann nicht gehen; nichts wurde geändert',
  'the membership in {0} is being restored': 'die Mitgliedschaft in {0} wird wiederhergestellt',
  '{0} is not in wrap-up': '{0} ist nicht in der Nachbearbeitung',
  'reason: {0} needs the level supervisor': 'den Grund {0} vergibt nur ein Supervisor',
  'this pause reason does not exist; there are: {0}': 'diesen Pausengrund gibt es nicht; es gibt: {0}',
  'queue: expected the name or the number of a queue':
    'queue: erwartet wird Name oder Nummer einer Warteschlange',
  'there is no such action; there are: {0}': 'diese Aktion gibt es nicht; es gibt: {0}',
  'queue: toggle_queue needs a queue': 'queue: toggle_queue braucht eine Warteschlange',
  'login: toggle_queue needs 1 or 0': 'login: toggle_queue braucht 1 oder 0',
  '{0}; not all changes could be undone': '{0}; nicht alles konnte zurückgenommen werden',
  'extend_seconds: a wrap-up lasts {0} s at most':
    'extend_seconds: eine Nachbearbeitung dauert höchstens {0} s',
  'another API key is called {0}': 'ein anderer API-Schlüssel heißt {0}',
  'queues: there is no queue {0}': 'queues: die Warteschlange {0} gibt es nicht',
  'extensions: {0} of a key limited to queues needs named extensions; an empty list means none':
    'extensions: {0} eines auf Warteschlangen beschränkten Schlüssels braucht genannte Nebenstellen; eine leere Liste bedeutet keine',
  'extensions: there is no extension {0}': 'extensions: die Nebenstelle {0} gibt es nicht',
  'expires_at: must be in the future': 'expires_at: muss in der Zukunft liegen',
  'a site has at most {0} API keys; revoke one': 'es gibt höchstens {0} API-Schlüssel; widerrufen Sie einen',
  'there is no such callback': 'es gibt keinen solchen Rückruf',
  'the callback is closed': 'der Rückruf ist erledigt',
  '{0} has already taken this callback': '{0} hat diesen Rückruf schon übernommen',
  'there is no such customer': 'es gibt keinen solchen Kunden',
  'the customer was changed meanwhile': 'der Kunde wurde inzwischen geändert',
  'changing a shared customer needs the level supervisor':
    'einen gemeinsamen Kunden zu ändern braucht die Stufe supervisor',
  '{0}: this field comes from the connected system; change it there':
    '{0}: das kommt aus dem verbundenen System; ändern Sie es dort',
  'the customer comes from a connected system; delete it there, or the connector or source':
    'der Kunde kommt aus einem verbundenen System; löschen Sie ihn dort, oder den Konnektor oder die Quelle',
  'a phonebook has at most {0} sources; delete one':
    'ein Telefonbuch hat höchstens {0} Quellen; löschen Sie eine',
  'the API key is not valid': 'der API-Schlüssel ist nicht gültig',
  'address: write it as ldaps://ldap.example.com': 'address: schreiben Sie sie als ldaps://ldap.example.com',
  'ldap.filter: must be an LDAP filter': 'ldap.filter: das ist kein LDAP-Filter',
  'ldap.base: write a distinguished name such as ou=people,dc=example,dc=com':
    'ldap.base: schreiben Sie einen Distinguished Name wie ou=people,dc=example,dc=com',
  'ldap.ca: must contain only certificates in PEM':
    'ldap.ca: geben Sie Zertifikate in PEM an und nichts anderes',
  'ldap: is allowed with the kind ldap only': 'ldap: ist nur bei der Art ldap erlaubt',
  'there is no such source': 'es gibt keine solche Quelle',
  'password: is needed again because the address changes':
    'password: wird erneut gebraucht, weil sich die Adresse ändert',
  'id: the source is disabled; enable it first':
    'id: die Quelle ist ausgeschaltet; schalten Sie sie zuerst ein',
  'number: write it with its country, such as +4930901820':
    'number: schreiben Sie sie mit der Landesvorwahl, etwa +4930901820',
  'id: the connector is disabled or has an error; enable or correct it first':
    'id: der Konnektor ist ausgeschaltet oder defekt; richten Sie ihn zuerst',
  'id: the file of this connector creates no customers':
    'id: die Datei dieses Konnektors legt keine Kunden an',
  'a customer with this number is being created': 'ein Kunde mit dieser Nummer wird gerade angelegt',
  'id: the connector is disabled, or its file lists no customers':
    'id: der Konnektor ist ausgeschaltet, oder seine Datei listet keine Kunden',
  'the message has no valid signature of this connector':
    'die Nachricht weist nicht nach, dass sie von diesem Konnektor ist',
  'too many messages; send them later': 'zu viele Nachrichten; senden Sie sie später',
  'body: a note has 2000 characters at most': 'body: eine Notiz hat höchstens 2000 Zeichen',
  'the system returns no e-mail address for its user {0}':
    'das System nennt keine E-Mail seines Benutzers {0}',
  'there is no person {0}': 'es gibt keine Person {0}',
  'Content-Type must be application/json or application/x-www-form-urlencoded':
    'Content-Type muss application/json oder application/x-www-form-urlencoded sein',
  'settings.{0}: is needed again because the address changes':
    'settings.{0}: wird erneut gebraucht, weil sich die Adresse ändert',
  'shared: a shared customer cannot become personal':
    'shared: ein gemeinsamer Kunde kann nicht persönlich werden',
  'body: the row that ends at line {0} is longer than {1} characters; a quote may not be closed':
    'body: die Zeile, die in Zeile {0} endet, ist länger als {1} Zeichen; vielleicht fehlt ein schließendes Anführungszeichen',
  'body: line {0} has a quote that is not closed or is inside a value; double each quote inside quotes':
    'body: die Anführungszeichen in Zeile {0} sind nicht geschlossen oder stehen in einem Wert; schreiben Sie sie darin doppelt',
  'body: the heading has more than {0} columns': 'body: die Kopfzeile hat mehr als {0} Spalten',
  'body: the first line has no column for names; begin with a heading such as name,company,number_1,label_1,email_1':
    'body: die erste Zeile nennt keine Spalte für Namen; beginnen Sie mit einer Kopfzeile wie name,company,number_1,label_1,email_1',
  'body: a file has at most {0} rows; send it in parts':
    'body: eine Datei hat höchstens {0} Zeilen; senden Sie sie in Teilen',
  'body: the file is empty': 'body: die Datei ist leer',
  'body: the file is not in {0}; save it as UTF-8, or name its character set in encoding':
    'body: die Datei ist nicht in {0}; speichern Sie sie als UTF-8 oder nennen Sie ihren Zeichensatz in encoding',
  'body: must be a text file without NUL characters':
    'body: die Datei enthält ein NUL-Zeichen; sie ist keine Textdatei',
  'body: there is no BEGIN:VCARD; send a vCard file of version 3.0 or 4.0':
    'body: BEGIN:VCARD fehlt; senden Sie eine vCard-Datei der Version 3.0 oder 4.0',
  'list: an API key has no personal customers': 'list: ein API-Schlüssel hat keine persönlichen Kunden',
  'Content-Type must be text/csv or text/vcard': 'Content-Type muss text/csv oder text/vcard sein',
  'shared: an API key has no personal customers': 'shared: ein API-Schlüssel hat keine persönlichen Kunden',
  'owner: there is no extension {0}': 'owner: die Nebenstelle {0} gibt es nicht',
  'numbers.{0}: this number is listed twice': 'numbers.{0}: diese Nummer steht zweimal da',
  'a site has at most {0} customers, a person {1} personal ones':
    'ein Standort hat höchstens {0} Kunden, eine Person {1} persönliche',
  'the board has no such display key': 'die Tafel hat keinen solchen Anzeigeschlüssel',
  'queues, extensions: a display key takes these from its wallboard; change the wallboard':
    'was ein Anzeigeschlüssel erreicht, bestimmt seine Tafel',
  'managing the display keys of a board needs the level supervisor':
    'Supervisoren und Administratoren geben eine Tafel auf Anzeigen',
  'shared: sharing a board needs the level supervisor':
    'nur Supervisoren und Administratoren teilen eine Tafel',
  "layout.tiles.{0}.queue: must be one of the board's queues":
    'layout.tiles.{0}.queue: gehört nicht zu den Warteschlangen der Tafel',
  'queues: adding queues to a board with display keys needs the level supervisor':
    'diese Tafel wird auf Anzeigen gezeigt: weitere Warteschlangen geben ihr nur Supervisoren',
  'layout: showing more of the callers on a board with display keys needs the level supervisor':
    'diese Tafel wird auf Anzeigen gezeigt: nur Supervisoren lassen sie mehr von den Anrufern zeigen',
  'a site has at most {0} boards, a person {1}': 'es gibt höchstens {0} Tafeln, je Person {1}',
  'another operation on this call is under way': 'ein anderer Vorgang an diesem Anruf läuft',
  'the same for this leg is under way': 'dasselbe läuft für diesen Zweig schon',
  '{0} calls were placed today already': 'heute wurden schon {0} Anrufe getätigt',
  '{0} different countries were called today already': 'heute wurden schon {0} verschiedene Länder angerufen',
  'calls from the API are switched off': 'Anrufe über die API sind ausgeschaltet',
  '{0} may not call {1}': '{0} darf {1} nicht anrufen',
  '{0} calls were placed in the last minute': 'in der letzten Minute wurden {0} Anrufe getätigt',
  '{0} may not call numbers of this class of route': '{0} darf Nummern dieser Klasse von Wegen nicht anrufen',
  'this number may not be shown as the caller': 'diese Nummer darf nicht als Anrufer gezeigt werden',
  'no route of this site leads to {0}': 'kein Weg führt hier zu {0}',
  '{0} operations of {1} are under way': '{0} Vorgänge von {1} sind in Arbeit',
  'the operation failed': 'der Vorgang ist gescheitert',
  'the service stopped before the outcome was known': 'der Dienst hielt an, bevor der Ausgang bekannt war',
  'from: is needed with an API key: the extension whose devices ring':
    'from: wird mit einem API-Schlüssel gebraucht: die Nebenstelle, deren Geräte klingeln',
  'from: there is no extension {0}': 'from: die Nebenstelle {0} gibt es nicht',
  'no device of {0} is registered': 'kein Gerät von {0} ist angemeldet',
  'no {0} device of {1} is registered': 'kein Gerät der Art {0} von {1} ist angemeldet',
  'no device of {0} rang': 'kein Gerät von {0} hat geklingelt',
  'no device of {0} took the call': 'kein Gerät von {0} hat den Anruf angenommen',
  'to: a parking number can only be the target of a transfer':
    'to: eine Parknummer nimmt nur Weiterleitungen',
  'nothing of this call rings now': 'von diesem Anruf klingelt gerade nichts',
  'the ringing leg is a device of the caller itself; it cannot be picked up':
    'es klingelt ein Gerät des Anrufenden selbst, das niemand anruft',
  '{0} is at another engine than this call': '{0} ist an einer anderen Engine als dieser Anruf',
  '{0} is in this call already': '{0} ist schon in diesem Anruf',
  'this call is neither on hold nor parked': 'dieser Anruf wird weder gehalten noch ist er geparkt',
  'no leg of this call is talking now; listening needs one':
    'in diesem Anruf spricht gerade niemand, bei dem Sie mithören könnten',
  'your devices already ring to listen, or listen to another call':
    'die eigenen Geräte klingeln zum Mithören oder hören schon bei einem anderen Anruf mit',
  'this leg has left the call': 'dieser Anruf geht ohne diesen Zweig weiter',
  'nothing rings at {0} now': 'bei {0} klingelt gerade nichts',
  'leg_id: is needed, because no leg of this call is yours':
    'leg_id: wird gebraucht, weil kein Zweig dieses Anrufs Ihrer ist',
  'this leg is not talking to anyone now': 'dieser Zweig spricht gerade mit niemandem',
  'this leg is not recorded': 'dieser Zweig wird nicht aufgenommen',
  'the session ended': 'die Sitzung ist beendet',
  '{0} of your requests wait for exports already': '{0} Ihrer Anfragen warten schon auf Exporte',
  'a leg can have at most {0} recordings': 'dieser Zweig hatte mehr als {0} Aufnahmen',
  'the other side of this leg cannot be parked':
    'auf der anderen Seite ist niemand, der geparkt werden könnte',
  'the other side is on hold already': 'die andere Seite wird schon gehalten',
  'the other side has put you on hold': 'die andere Seite hält Sie gerade',
  'the call is held at the device; retrieve it there': 'am Gerät gehalten: holen Sie ihn dort zurück',
  'nobody is on hold': 'niemand wird gehalten',
  'this leg is not answered': 'dieser Zweig ist nicht angenommen',
  'the rule of the site records this call; pause the recording instead':
    'dieser Anruf wird nach der Regel aufgenommen; halten Sie die Aufnahme stattdessen an',
  '{0} did not answer': '{0} hat nicht geantwortet',
  'the transfer is {0}': 'die Weiterleitung ist {0}',
  'an attended transfer of this leg is under way; complete or cancel it first':
    'eine Weiterleitung mit Rücksprache dieses Zweigs läuft; schließen Sie sie zuerst ab oder brechen Sie sie ab',
  'to: a parking number can only be the target of a blind transfer':
    'to: eine Parknummer nimmt nur Weiterleitungen ohne Rücksprache',
  'a display key can read its own board only': 'einer Anzeige wird nur ihre Tafel gezeigt',
  'offset: cannot be used with cursor': 'offset: geht nicht zusammen mit cursor',
  'too many of your exports of customers are being sent; start this one after they are done':
    'zu viele Ihrer Exporte von Kunden werden gerade gesendet; beginnen Sie diesen, wenn sie fertig sind',
  'too many exports of customers are being sent; try again later':
    'zu viele Exporte von Kunden werden gerade gesendet',
  'too many exports are waiting': 'zu viele Exporte warten',
  '{0} of your exports are waiting or running': '{0} Ihrer Exporte warten oder laufen',
  'you have {0} files; delete one of them': 'Sie haben {0} Dateien; löschen Sie eine davon',
  'the export is {0}': 'der Export ist {0}',
  'you no longer have access to the data in this file':
    'was in dieser Datei ist, dürfen Sie nicht mehr sehen',
  'a conversation has {0} notes at most': 'ein Gespräch hat höchstens {0} Notizen',
  'only those who talked in the conversation can add a note or set its outcome':
    'nur wer in dem Gespräch gesprochen hat, kann eine Notiz hinzufügen oder das Ergebnis setzen',
  "changing another person's note needs the level supervisor":
    'für die Notiz einer anderen Person braucht es die Stufe supervisor',
  'only a participant of the call can report its quality': 'nur wer im Anruf war, sagt, wie er klang',
  'a conversation has {0} reports at most, and {1} of one person':
    'ein Gespräch hat höchstens {0} Berichte, {1} je Person',
  '{0}; read the changes from the beginning': '{0}; lesen Sie die Änderungen von vorn',
  'cursor: cannot be used with since or epoch': 'cursor: geht nicht zusammen mit since oder epoch',
  'cursor: must be a cursor of this list': 'cursor: muss eine Marke dieser Liste sein',
  'cursor: belongs to another epoch': 'cursor: gehört zu einer anderen epoch',
  'epoch: must be {0}, the current one': 'epoch: muss {0} sein, die jetzige',
  '{0}: the newest change is {1}': '{0}: die neueste Änderung ist {1}',
  'own: an API key has no view of its own': 'own: ein API-Schlüssel hat keine eigene Ansicht',
  '{0}: expected an RFC 3339 time such as 2026-11-21T09:00:00Z':
    '{0}: erwartet wird eine Zeit nach RFC 3339 wie 2026-11-21T09:00:00Z',
  'to: must not be before from': 'to: darf nicht vor from liegen',
  'extension: an API key has no calls of its own; name an extension':
    'extension: ein API-Schlüssel hat keine eigenen Anrufe; nennen Sie eine Nebenstelle',
  "another extension's calls need the level supervisor":
    'für die Anrufe einer anderen Nebenstelle braucht es die Stufe supervisor',
  "another extension's calls need a key that has this extension":
    'für die Anrufe einer anderen Nebenstelle braucht es einen Schlüssel, der sie umfasst',
  'call_keys: hide needs the call_key of each call': 'call_keys: hide braucht den call_key jedes Anrufs',
  'call_keys: must have at most 500 entries': 'call_keys: höchstens 500',
  'there is no such action; there are: hide, clear': 'diese Aktion gibt es nicht; es gibt: hide, clear',
  'presence needs an extension, and you have none': 'Präsenz braucht eine Nebenstelle, und Sie haben keine',
  'expires_at: must be at most 366 days ahead': 'expires_at: mehr als 366 Tage in der Zukunft',
  'expires_at: needs an activity or a note to expire': 'expires_at: es gibt keine Angabe, die enden könnte',
  'extension: it must have at least two digits': 'extension: muss mindestens zwei Ziffern haben',
  'number: must be a telephone number': 'number: das lässt sich nicht als Nummer lesen',
  'there is no such erasure': 'diese Löschung gibt es nicht',
  'too many erasures and exports are waiting; try again later': 'davon warten schon zu viele',
  'reason: must not contain the data to erase, because the reason is kept':
    'reason: darf die zu löschenden Daten nicht enthalten, weil die Begründung aufbewahrt wird',
  'there is no queue {0}': 'die Warteschlange {0} gibt es nicht',
  'this key may not change the agent {0}': 'dieser Schlüssel darf den Agenten {0} nicht ändern',
  'no caller with this id waits in {0}': 'in {0} wartet niemand mit dieser Kennung',
  '{0} changes of {1} are under way': '{0} Änderungen von {1} sind in Arbeit',
  'the caller no longer waits': 'der Anrufer wartet nicht mehr',
  'the caller no longer waits in this queue': 'der Anrufer wartet dort nicht mehr',
  '{0} recordings are being sent to you already': '{0} Aufnahmen werden Ihnen schon gesendet',
  'the recording is not finished yet': 'es wird noch aufgenommen',
  'the engine stored no file for this recording': 'die Anlage hat keine Datei davon hinterlassen',
  'the recording was deleted at the end of its retention time':
    'die Aufbewahrung ist abgelaufen: nach der Regel gelöscht',
  'the recording was deleted': 'es wurde gelöscht',
  'the file is on node {0} only: recordings of this node can be played if OFFHOOK_SHARED_FILES is set':
    'die Datei ist nur auf dem Knoten {0}: Aufnahmen dieses Knotens lassen sich abspielen, wenn OFFHOOK_SHARED_FILES gesetzt ist',
  'the file is on node {0}, which does not lead the site now':
    'die Datei ist auf dem Knoten {0}, der die Anlage gerade nicht führt',
  'the file is damaged: it has {0} bytes, {1} were stored':
    'die Datei ist beschädigt: sie hat {0} Bytes, gespeichert wurden {1}',
  'dnd_enabled: expected true or false': 'dnd_enabled: erwartet wird true oder false',
  'calls of {0} may not be forwarded to {1}': 'Anrufe von {0} dürfen nicht zu {1} umgeleitet werden',
  'calls cannot be forwarded to {0}': 'Anrufe werden nicht umgeleitet: {0}',
  'desk phone': 'Tischtelefon',
  softphone: 'Softphone',
  'mobile phone': 'Mobiltelefon',
  'allowed_phone_mode: {0} has no {1}': 'allowed_phone_mode: {0} hat kein {1}',
  'you have no extension': 'Sie haben keine Nebenstelle',
  'you may not change the features of {0}': 'die Leistungsmerkmale von {0} gehören nicht Ihnen',
  'no person has the extension {0}': '{0} ist niemandes Nebenstelle',
  '{0} has no such session': '{0} hat keine solche Sitzung',
  'switch your own second factor off by POST /api/v1/session/otp/disable with your password':
    'für den eigenen braucht es Ihr Passwort: POST /api/v1/session/otp/disable',
  'too many reports are being built; try again later': 'zu viele Berichte werden gerade erstellt',
  'a display key can read the present day only': 'einer Anzeige wird nur der heutige Tag gezeigt',
  'day: give either day, or from and to': 'day: entweder ein Tag oder from und to',
  'day: expected a day from 2000-01-02 to 2099-12-31':
    'day: erwartet wird ein Tag von 2000-01-02 bis 2099-12-31',
  'from: give both from and to, or neither': 'from: from und to gehören zusammen',
  '{0}: expected a time from 2000 to 2099': '{0}: erwartet wird eine Zeit von 2000 bis 2099',
  '{0}: must be at a full quarter of an hour': '{0}: erwartet wird eine Zeit auf einer Viertelstunde',
  'to: expected a time after from': 'to: erwartet wird eine Zeit nach from',
  'to: expected at most {0} days after from': 'to: erwartet werden höchstens {0} Tage nach from',
  'interval: expected a multiple of 900 that divides a day':
    'interval: erwartet wird ein Vielfaches von 900, das einen Tag teilt',
  'interval: a series has at most 92 days': 'interval: eine Reihe hat höchstens 92 Tage',
  'interval: a series has at most {0} intervals; take longer ones':
    'interval: eine Reihe hat höchstens {0} Abschnitte; nehmen Sie längere',
  'internal numbers': 'interne Nummern',
  'emergency numbers': 'Notrufnummern',
  'national numbers': 'nationale Nummern',
  'mobile numbers': 'Mobilfunknummern',
  'international numbers': 'internationale Nummern',
  'premium numbers': 'Premiumnummern',
  'feature code numbers': 'Funktionscodes',
  'a number of no known kind': 'eine Nummer unbekannter Art',
  'match: an agent can only block single numbers; other rules need the level supervisor':
    'Agenten sperren einzelne Nummern; andere Regeln brauchen einen Supervisor',
  'a rule with the other action has this number; delete it first':
    'eine Regel der anderen Art hat diese Nummer; löschen Sie sie zuerst',
  'there is no such rule': 'diese Regel gibt es nicht',
  'match: anonymous callers have no number and can only be blocked':
    'match: anonyme Anrufer haben keine Nummer und können nur gesperrt werden',
  'number: is missing': 'number: sie fehlt',
  'number: a prefix must begin with +, 00 or the national prefix of the site, and have at most 15 digits':
    'number: ein Anfang beginnt mit +, 00 oder der nationalen Vorwahlziffer des Standorts und hat höchstens 15 Ziffern',
  'a site has at most {0} rules for callers': 'ein Standort hat höchstens {0} Regeln für Anrufer',
  'the configuration of a phone contains passwords; fetch it over HTTPS':
    'ein Telefon ruft seine Konfiguration über HTTPS ab: sie enthält Passwörter',
  'there is no such file for this phone': 'hier ist nichts für dieses Telefon',
  'the applied configuration has no phone {0}': 'ein Telefon {0} ist nicht übernommen',
  'the phone {0} is bound to the device {1}; a new token allows another device':
    'das Telefon {0} ist das Gerät {1}; mit einem neuen Token kann es ein anderes sein',
  'no phone with this MAC address is waiting at this network address: another device has asked with the same MAC address':
    'kein Telefon mit dieser MAC-Adresse wartet an dieser Netzadresse: inzwischen hat ein anderes Gerät damit gefragt',
  'no phone with this MAC address is waiting': 'kein Telefon mit dieser MAC-Adresse wartet',
  'this phone cannot be asked to fetch: it has no endpoint or its vendor has no such request':
    'es gibt nichts, womit dieses Telefon gefragt werden kann',
  'too many requests for files that do not exist': 'zu viele Anfragen nach Dateien, die es nicht gibt',
  'the phone {0} is not a shared phone':
    'das Telefon {0} wird nicht gemeinsam genutzt: daran meldet sich niemand an',
  'no phone can switch a time condition {0}': 'kein Telefon kann eine Zeitbedingung {0} umschalten',
  'the endpoint must be a shared phone': 'kein gemeinsames Telefon',
  'the endpoint or the event is not valid': 'der Endpunkt oder das Ereignis ist nicht gültig',
  'private_key: must be a readable private key in PEM': 'private_key: er kann nicht gelesen werden',
  'private_key: must be an RSA key': 'private_key: kein RSA-Schlüssel',
  'private_key: must be a P-256 key': 'private_key: kein P-256-Schlüssel',
  'the site has no such push service': 'diese Anlage hat keinen solchen Push-Dienst',
  'registering an app needs the session of a person': 'nur die Sitzung einer Person hat eine App',
  'must be a token of a push service': 'muss ein Token eines Push-Dienstes sein',
  'must be hexadecimal for APNs': 'muss für APNs hexadezimal sein',
  'must be a key in PEM': 'muss ein Schlüssel in PEM sein',
  'must be letters, digits and "._:-", beginning with a letter or digit':
    'muss aus Buchstaben, Ziffern und „._:-“ bestehen und mit Buchstabe oder Ziffer beginnen',
  'this is not a channel that waits for a mobile device': 'das ist kein Kanal, der auf ein Mobilgerät wartet',
  'must be an address': 'muss eine Adresse sein',
};
