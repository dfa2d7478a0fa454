from django.db import migrations, models

from tenants.languages import UNKNOWN, Language

KNOWN = "tr ar ca cs da de el en eo es et eu fa fi fr ga hi hu hy id it lt nb ne nl no pl pt ro ru sr sv ta yi".split()


class Migration(migrations.Migration):
    """An agent's language is one that the analyser knows.

    An agent in any other could ingest nothing and answer nothing, so giving it the default loses
    nothing.
    """

    dependencies = [("tenants", "0004_names")]

    operations = [
        migrations.RunSQL(
            f"UPDATE tenants_agent SET language = 'tr' WHERE language NOT IN {tuple(KNOWN)}",
            migrations.RunSQL.noop,
        ),
        migrations.AlterField(
            model_name="agent",
            name="language",
            field=models.CharField(
                choices=Language.choices,
                default="tr",
                error_messages={"invalid_choice": UNKNOWN},
                max_length=8,
            ),
        ),
        migrations.AddConstraint(
            model_name="agent",
            constraint=models.CheckConstraint(
                condition=models.Q(("language__in", KNOWN)), name="agent_language_is_known"
            ),
        ),
    ]
