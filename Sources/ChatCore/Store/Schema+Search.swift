extension Schema {
    /// Words in PostgreSQL as SQLite has them: parted by everything but letters and digits, and without the accents of
    /// Latin letters. PostgreSQL's own parser keeps links, addresses, versions and names of files in one piece, so it
    /// is given none of the signs that it knows them by. Other signs it passes over where the database's language knows
    /// them; under `LC_CTYPE = C` it takes all beyond ASCII for letters, hence the most common blocks of them.
    ///
    /// Only of a database in UTF-8 it is known which characters the bytes are.
    static let searchWords = Step(
        "search_words", sqlite: "",
        postgres: #"""
            ALTER TABLE messages DROP COLUMN words;
            DO $step$ BEGIN
            IF getdatabaseencoding() = 'UTF8' THEN
                ALTER TABLE messages ADD COLUMN words tsvector
                GENERATED ALWAYS AS (to_tsvector('simple', regexp_replace(
                    normalize(regexp_replace(normalize(content, NFD), '([A-Za-z])[\u0300-\u036f]+', '\1', 'g'), NFC),
                    '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00a9\u00ab-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf'
                    '\u00d7\u00f7\u2000-\u206f\u20a0-\u20c0\u2190-\u245f\u2500-\u2775\u2794-\u2bff\u3000-\u3004'
                    '\u3008-\u3020\ufe00-\ufe0f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65'
                    '\U0001f000-\U0001f0ff\U0001f10d-\U0001faff]+', ' ', 'g'))) STORED; \#
            ELSE
                ALTER TABLE messages ADD COLUMN words tsvector
                GENERATED ALWAYS AS (to_tsvector('simple', regexp_replace(
                    content, '[\x01-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f]+', ' ', 'g'))) STORED; \#
            END IF; \#
            END $step$;
            CREATE INDEX message_words ON messages USING GIN (words)
            """#)

    /// Words in the middle of scripts without spaces. SQLite is given `SearchText`, with marks as parts of words;
    /// PostgreSQL makes the same of a message itself, so that an older server beside this one keeps its index right.
    /// These are `UnspacedScripts.ranges`, and the marks behind their letters.
    static let unspacedScripts = Step(
        "unspaced_scripts",
        sqlite: """
            DROP TRIGGER message_words_insert;
            DROP TRIGGER message_words_update;
            DROP TRIGGER message_words_delete;
            DROP TABLE message_words;
            DROP VIEW message_places;
            CREATE VIEW message_places AS
            SELECT row, roost_search_text(content) AS content, 'w' || lower(hex(workspace_id)) AS place FROM messages;
            CREATE VIRTUAL TABLE message_words USING fts5(content, place, content='message_places', \
            content_rowid='row', tokenize="unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'");
            INSERT INTO message_words (message_words) VALUES ('rebuild');
            CREATE TRIGGER message_words_insert AFTER INSERT ON messages BEGIN
                INSERT INTO message_words (rowid, content, place) VALUES (
                    new.row, roost_search_text(new.content), 'w' || lower(hex(new.workspace_id))); END;
            CREATE TRIGGER message_words_update AFTER UPDATE OF content ON messages BEGIN
                INSERT INTO message_words (message_words, rowid, content, place) VALUES (
                    'delete', old.row, roost_search_text(old.content), 'w' || lower(hex(old.workspace_id))); \
            INSERT INTO message_words (rowid, content, place) VALUES (
                    new.row, roost_search_text(new.content), 'w' || lower(hex(new.workspace_id))); END;
            CREATE TRIGGER message_words_delete BEFORE DELETE ON messages BEGIN
                INSERT INTO message_words (message_words, rowid, content, place) VALUES (
                    'delete', old.row, roost_search_text(old.content), 'w' || lower(hex(old.workspace_id))); END
            """,
        postgres: #"""
            DO $step$ BEGIN
            IF getdatabaseencoding() = 'UTF8' THEN
                ALTER TABLE messages DROP COLUMN words; \#
                ALTER TABLE messages ADD COLUMN words tsvector
                GENERATED ALWAYS AS (to_tsvector('simple', regexp_replace(regexp_replace(
                    normalize(regexp_replace(normalize(content, NFD), '([A-Za-z])[\u0300-\u036f]+', '\1', 'g'), NFC),
                    '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00a9\u00ab-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf'
                    '\u00d7\u00f7\u0488-\u0489\u0e3f\u1abe\u2000-\u206f\u20a0-\u20c0\u20dd-\u20e0\u20e2-\u20e4\u2190-\u245f'
                    '\u2500-\u2775\u2794-\u2bff\u3000-\u3004\ua670-\ua672'
                    '\u3008-\u3020\u3030\u303d-\u303f\u30a0\u30fb\ufe00-\ufe0f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40'
                    '\uff5b-\uff65\U0001f000-\U0001f0ff\U0001f10d-\U0001faff\U000e0100-\U000e01ef]+', ' ', 'g'),
                    '([\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\u3005-\u3007\u3021-\u3029'
                    '\u3031-\u3035\u3038-\u303c\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31a0-\u31bf'
                    '\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua9e0-\ua9ff\uaa60-\uaadf\uf900-\ufaff\uff66-\uff9f'
                    '\U00011700-\U0001174f\U0001aff0-\U0001b16f\U00020000-\U0003fffd]['
                    '\u0300-\u036f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e'
                    '\u1056-\u1059\u105e-\u1060\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f'
                    '\u109a-\u109d\u17b4-\u17d3\u17dd\u1a55-\u1a7f\u302a-\u302f\u3099-\u309a\ua9e5\uaa7b-\uaa7d'
                    '\uaab0\uaab2-\uaab4\uaab7-\uaab8\uaabe-\uaabf\uaac1\U0001171d-\U0001172b]*)', ' \1 ', 'g'))) STORED; \#
                CREATE INDEX message_words ON messages USING GIN (words); \#
            END IF; \#
            END $step$
            """#)
}
