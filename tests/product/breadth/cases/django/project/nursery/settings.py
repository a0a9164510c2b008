SECRET_KEY = "only for tests"
INSTALLED_APPS = ["shop"]
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]
